import type pg from 'pg';
import { firstIdAt } from '../../src/ids.ts';
import { lookAtDeliveries, lookAtEvents } from '../../src/live/looks.ts';

export type Ask = (query: string, variables?: Record<string, unknown>) => Promise<unknown>;
export type Question = { name: string; run(): Promise<unknown> };

const DAY_MILLISECONDS = 24 * 60 * 60_000;
const NODES = 'nodes { id status eventType attemptCount updatedAt } pageInfo { hasNextPage endCursor }';
const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MILLISECONDS);

/** The queries that the console, GraphQL clients, and the service run on the history. */
export async function questionsAbout(pool: pg.Pool, projectId: string, ask: Ask): Promise<Question[]> {
  const { rows } = await pool.query<{ id: string; webhookId: string }>(
    'SELECT "id", "webhookId" FROM "Delivery" WHERE "projectId" = $1 AND "attemptCount" = 3 AND "id" < $2 ORDER BY "id" DESC LIMIT 1',
    [projectId, firstIdAt('Delivery', daysAgo(40).getTime())],
  );
  const { id, webhookId } = rows[0]!;
  const inProject = (name: string, field: string) => ({
    name,
    run: () => ask(`query ($p: ID!) { project(id: $p) { ${field} } }`, { p: projectId }),
  });
  const deliveries = (name: string, args = '') => inProject(name, `deliveries(first: 50${args}) { ${NODES} }`);
  const toWebhook = (name: string, args = '') =>
    inProject(name, `webhook(id: "${webhookId}") { deliveries(first: 50${args}) { ${NODES} } }`);
  const stats = 'buckets { start succeededCount } totals { failedCount responseTimeP95Ms } isPartial';

  return [
    deliveries('newest deliveries'),
    deliveries('a page of deliveries from 40 days ago', `, after: "${id}"`),
    deliveries('failed deliveries', ', filter: { status: [FAILED] }'),
    deliveries('deliveries with a status that never occurs', ', filter: { status: [SKIPPED] }'),
    deliveries(
      'failed deliveries from the last week',
      `, filter: { status: [FAILED], since: "${daysAgo(7).toISOString()}" }`,
    ),
    toWebhook('deliveries to one webhook'),
    toWebhook('failed deliveries to one webhook', ', filter: { status: [FAILED] }'),
    deliveries('deliveries of a rare event type', ', filter: { eventTypes: [CUSTOMER_MILESTONE] }'),
    inProject('newest events', 'events(first: 50) { nodes { id type } }'),
    inProject('events of a rare type', 'events(first: 50, types: [CUSTOMER_MILESTONE]) { nodes { id } }'),
    inProject(
      'one delivery with its attempts',
      `delivery(id: "${id}") { id attempts { number statusCode responseBody } }`,
    ),
    inProject('explanation of a delivery', `delivery(id: "${id}") { explanation { summary } }`),
    inProject(
      'hourly statistics for a day',
      `deliveryStats(from: "${daysAgo(1).toISOString()}", interval: HOUR) { ${stats} }`,
    ),
    inProject(
      'daily statistics for 30 days',
      `deliveryStats(from: "${daysAgo(30).toISOString()}", interval: DAY) { ${stats} }`,
    ),
    {
      name: 'one read of the live delivery feed',
      run: () => lookAtDeliveries(pool, projectId, { status: null, eventTypes: null, createdSince: null }).present(),
    },
    { name: 'one read of the live event feed', run: () => lookAtEvents(pool, projectId, null).present() },
    {
      name: 'count of failed deliveries for a replay',
      run: () =>
        ask(
          'mutation ($p: ID!) { createReplay(input: { projectId: $p, dryRun: true, filter: { status: [FAILED] } }) { total } }',
          { p: projectId },
        ),
    },
  ];
}
