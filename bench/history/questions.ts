import type pg from 'pg';
import { toColumns as deliveryColumns } from '../../src/features/deliveries/filter.ts';
import { toColumns as paymentColumns } from '../../src/features/payments/filter.ts';
import { firstIdAt } from '../../src/ids.ts';
import { deliveryChanges, eventChanges, paymentChanges } from '../../src/live/change-queries.ts';

export type Ask = (query: string, variables?: Record<string, unknown>) => Promise<unknown>;
export type Question = {
  name: string;
  run(): Promise<unknown>;
};

const DAY_MILLISECONDS = 24 * 60 * 60_000;
const NODES = 'nodes { id status eventType attemptCount updatedAt } pageInfo { hasNextPage endCursor }';
const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MILLISECONDS);
const since = (days: number) => `"${daysAgo(days).toISOString()}"`;

/** The queries that the console and API clients run on a project's history. `as` names the credential. */
export async function questionsAbout(pool: pg.Pool, projectId: string, ask: Ask, as: string): Promise<Question[]> {
  const inProject = (name: string, field: string) => ({
    name: name + as,
    run: () => ask(`query ($p: ID!) { project(id: $p) { ${field} } }`, { p: projectId }),
  });
  return [
    ...(await deliveryQuestions(pool, projectId, inProject)),
    ...(await paymentQuestions(pool, projectId, inProject)),
    {
      name: `count of failed deliveries for a replay${as}`,
      run: () =>
        ask(
          'mutation ($p: ID!) { createReplay(input: { projectId: $p, dryRun: true, filter: { status: [FAILED] } }) { total } }',
          { p: projectId },
        ),
    },
  ];
}

/** The reads of the live feed, which are the same for every credential. */
export function liveQuestions(pool: pg.Pool, projectId: string): Question[] {
  const deliveries = deliveryColumns({});
  const payments = paymentColumns({});
  return [
    { name: 'one read of the live delivery feed', run: () => deliveryChanges(pool, projectId, deliveries).present() },
    { name: 'one read of the live event feed', run: () => eventChanges(pool, projectId, null).present() },
    { name: 'one read of the live payment feed', run: () => paymentChanges(pool, projectId, payments).present() },
  ];
}

/** What an operator asks about all accounts, and about the busy one. */
export async function operatorQuestions(pool: pg.Pool, projectId: string, ask: Ask): Promise<Question[]> {
  const { rows } = await pool.query<{ userId: string }>('SELECT "userId" FROM "Project" WHERE "id" = $1', [projectId]);
  const id = rows[0]!.userId;
  return [
    {
      name: 'health of all accounts',
      run: () => ask('{ operatorHealth(first: 50) { nodes { userId failedDeliveryCount overdueDeliveryCount } } }'),
    },
    {
      name: 'usage of an account',
      run: () =>
        ask('query ($id: ID!) { operatorUser(id: $id) { usage { connectorCount waitingDeliveryCount } } }', { id }),
    },
    {
      name: 'count of an account’s failed deliveries',
      run: () => ask('mutation ($id: ID!) { requeueDeliveries(input: { id: $id, dryRun: true }) { total } }', { id }),
    },
  ];
}

type InProject = (name: string, field: string) => Question;

async function deliveryQuestions(pool: pg.Pool, projectId: string, inProject: InProject): Promise<Question[]> {
  const { rows } = await pool.query<{ id: string; webhookId: string; connectorId: string; eventId: string }>(
    `SELECT d."id", d."eventId", d."webhookId", c."id" AS "connectorId" FROM "Delivery" d, "Connector" c
     WHERE d."projectId" = $1 AND c."projectId" = $1 AND "attemptCount" = 3 AND "webhookId" IS NOT NULL AND d."id" < $2
     ORDER BY d."id" DESC LIMIT 1`,
    [projectId, firstIdAt('Delivery', daysAgo(40).getTime())],
  );
  const { id, eventId, webhookId, connectorId } = rows[0]!;
  const deliveries = (name: string, args = '') => inProject(name, `deliveries(first: 50${args}) { ${NODES} }`);
  const to =
    (destination: string) =>
    (name: string, args = '') =>
      inProject(name, `${destination} { deliveries(first: 50${args}) { ${NODES} } }`);
  const toWebhook = to(`webhook(id: "${webhookId}")`);
  const toConnector = to(`connector(id: "${connectorId}")`);
  const rare = 'eventTypes: [CUSTOMER_MILESTONE]';
  const stats = 'buckets { start succeededCount } totals { failedCount responseTimeP95Ms } isPartial';

  return [
    deliveries('newest deliveries'),
    deliveries('a page of deliveries from 40 days ago', `, after: "${id}"`),
    deliveries('failed deliveries', ', filter: { status: [FAILED] }'),
    deliveries('succeeded deliveries', ', filter: { status: [SUCCEEDED] }'),
    deliveries('unfinished deliveries', ', filter: { status: [PENDING, RUNNING] }'),
    deliveries('failed and pending deliveries', ', filter: { status: [FAILED, PENDING] }'),
    deliveries('deliveries with a status that never occurs', ', filter: { status: [SKIPPED] }'),
    deliveries('deliveries from the last week', `, filter: { since: ${since(7)} }`),
    deliveries('failed deliveries from the last week', `, filter: { status: [FAILED], since: ${since(7)} }`),
    deliveries('deliveries of a rare event type', `, filter: { ${rare} }`),
    deliveries('failed deliveries of a rare event type', `, filter: { ${rare}, status: [FAILED] }`),
    toWebhook('deliveries to one webhook'),
    toWebhook('failed deliveries to one webhook', ', filter: { status: [FAILED] }'),
    toWebhook('deliveries of a rare event type to one webhook', `, filter: { ${rare} }`),
    toWebhook('deliveries to one webhook from the last week', `, filter: { since: ${since(7)} }`),
    toConnector('deliveries to one connector'),
    toConnector('failed deliveries to one connector', ', filter: { status: [FAILED] }'),
    toConnector('deliveries of a rare event type to one connector', `, filter: { ${rare} }`),
    inProject(
      'one delivery with its attempts',
      `delivery(id: "${id}") { id attempts { number statusCode responseBody } }`,
    ),
    inProject('explanation of a delivery', `delivery(id: "${id}") { explanation { summary } }`),
    inProject('newest events', 'events(first: 50) { nodes { id type } }'),
    inProject('events of a rare type', 'events(first: 50, types: [CUSTOMER_MILESTONE]) { nodes { id } }'),
    inProject('one event', `event(id: "${eventId}") { id type }`),
    inProject('hourly statistics for a day', `deliveryStats(from: ${since(1)}, interval: HOUR) { ${stats} }`),
    inProject('hourly statistics for 40 days', `deliveryStats(from: ${since(40)}, interval: HOUR) { ${stats} }`),
    inProject('daily statistics for 30 days', `deliveryStats(from: ${since(30)}, interval: DAY) { ${stats} }`),
    inProject('monthly statistics for a year', `deliveryStats(interval: MONTH) { ${stats} }`),
  ];
}

async function paymentQuestions(pool: pg.Pool, projectId: string, inProject: InProject): Promise<Question[]> {
  const { rows } = await pool.query<Record<'endpointId' | 'customerId' | 'payer' | 'transactionHash', string>>(
    `SELECT "endpointId", "customerId", "payer", "transactionHash" FROM "Payment"
     WHERE "projectId" = $1 AND "transactionHash" IS NOT NULL ORDER BY "id" DESC LIMIT 1`,
    [projectId],
  );
  const { endpointId, customerId, payer, transactionHash } = rows[0]!;
  const payments = (name: string, filter = '') =>
    inProject(name, `payments(first: 50, filter: { ${filter} }) { nodes { id status } pageInfo { hasNextPage } }`);
  const audit = (name: string, filter = '') =>
    inProject(name, `auditLog(first: 50, filter: { ${filter} }) { nodes { id action } }`);
  const customers = (name: string, args: string) =>
    inProject(name, `customers(first: 50, ${args}) { nodes { id totalUsd } }`);
  const revenue = (name: string, args: string) =>
    inProject(name, `revenue(${args}) { buckets { start totalUsd } totals { totalUsd } topEndpoints { path } }`);

  return [
    payments('newest payments'),
    payments('settled payments', 'status: [SETTLED]'),
    payments('failed payments', 'status: [FAILED]'),
    payments('unfinished payments', 'status: [CLAIMED, VERIFIED, SERVED, SETTLING, UNKNOWN]'),
    payments('failed and unfinished payments', 'status: [FAILED, UNKNOWN]'),
    payments('payments for an endpoint', `endpointId: "${endpointId}"`),
    payments('payments by a customer', `customerId: "${customerId}"`),
    payments('payments from a wallet', `payer: "${payer}"`),
    payments('payments with a transaction hash', `transactionHash: "${transactionHash}"`),
    payments('payments from the last week', `from: ${since(7)}`),
    payments('payments between two days', `from: ${since(31)}, to: ${since(30)}`),
    inProject('a customer with payments', `customer(id: "${customerId}") { payments(first: 50) { nodes { id } } }`),
    inProject('totals of a day’s payments', `paymentTotals(filter: { from: ${since(1)} }) { paymentCount settledUsd }`),
    customers('customers by their last payment', 'orderBy: LAST_PAYMENT'),
    customers('customers by their total', 'orderBy: TOTAL'),
    customers('a customer by wallet', `walletAddress: "${payer}"`),
    audit('newest audit log entries'),
    audit('audit log entries with a rare action', 'actions: [WEBHOOK_SECRET_ROTATED]'),
    audit('audit log entries about an endpoint', `targetId: "${endpointId}"`),
    revenue('hourly revenue for a day', `from: ${since(1)}, interval: HOUR`),
    revenue('daily revenue for 30 days', 'interval: DAY'),
    revenue('monthly revenue for a year', 'interval: MONTH'),
    inProject(
      'the day’s customers',
      `revenue(from: ${since(1)}, interval: HOUR) { totals { customerCount } topCustomers { walletAddress } }`,
    ),
    inProject('endpoints, webhooks, connectors, API keys, and replays', LISTS),
  ];
}

const LISTS = ['endpoints', 'webhooks', 'connectors', 'apiKeys', 'replays']
  .map((list) => `${list}(first: 10) { nodes { id } }`)
  .join(' ');
