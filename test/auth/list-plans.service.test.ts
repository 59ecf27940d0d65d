import { type GraphQLEnumType, type GraphQLField, type GraphQLObjectType, getNamedType, isObjectType } from 'graphql';
import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Viewer } from '../../src/auth/viewer.ts';
import type { BatchClient, Writer } from '../../src/database/batch-client.ts';
import { type Statement as BoundStatement, queryOf } from '../../src/database/statement.ts';
import type { VisibleProjectId } from '../../src/database/tenant-filter.ts';
import { countReplay } from '../../src/delivery/replay/batch.ts';
import { createTokenStore } from '../../src/delivery/send/token-store.ts';
import { countConnectors } from '../../src/features/connectors/quota.ts';
import { findProjectsWithDeliveries } from '../../src/features/delivery-stats/count-deliveries.ts';
import { findDestinations, findInVisible, findNamed } from '../../src/features/events/find-destinations.ts';
import type { EventService } from '../../src/features/events/service.ts';
import { createNoticeChecks } from '../../src/features/notices/checks.ts';
import { createFailStep } from '../../src/features/payments/steps/fail.ts';
import { createFanOut } from '../../src/features/payments/steps/fan-out.ts';
import { findProjectsWithPayments } from '../../src/features/revenue/count-payments.ts';
import { loadCatalog } from '../../src/gateway/discovery/catalog.ts';
import { loadRoutes, readRoutesVersion } from '../../src/gateway/routing/load-routes.ts';
import type { PrismaClient } from '../../src/generated/prisma/client.ts';
import { schema } from '../../src/graphql/schema.ts';
import { firstIdAt, type IdType, newId } from '../../src/ids.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { operatorsEnv } from '../support/operator.ts';
import { createKey, createProject } from '../support/resources.ts';

const ROWS = 1_600;
const ADDRESS = 'alice@example.com';
/** A customer who has no payments. */
const WALLET = `0x${'12'.repeat(20)}`;
const OTHERS = 100;
const ROWS_OF_OTHERS = 20;
/** How many of the others have deliveries that wait, and failed payments. */
const OTHERS_IN_TROUBLE = 50;
const FAILED_PAYMENTS = 3;
/** More than what belongs to one of the others, and less than what belongs to all of them. */
const MAX_ROWS = 200;
/** Some statements look at a page of projects. */
const OTHERS_TABLES = /^(?!Project$)./;

type Statement = { text: string; values: unknown[] };
type Plan = {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: Plan[];
};

let database: TestDatabase;
let app: TestApp;
let sql: pg.Pool;
const callers: Record<string, TestUser> = {};
const ids: Record<string, string> = {};

beforeAll(async () => {
  database = await createTestDatabase();
  app = await startTestApp({ databaseUrl: database.url, env: { ROLES: 'api', ...operatorsEnv('alice') } });
  sql = new pg.Pool({ connectionString: database.url });
  const alice = await app.user('alice', 'ENTERPRISE', ADDRESS);
  const { id: projectId, base } = await createProject(alice);
  const { rows } = await sql.query('SELECT "userId" FROM "Project" WHERE "id" = $1', [projectId]);
  Object.assign(callers, { 'a person': alice, 'an API key': app.caller((await createKey(alice, base)).key) });
  ids.projectId = projectId;
  const last = await fill(projectId, rows[0].userId, ROWS);
  Object.assign(ids, { webhookId: last.Webhook, connectorId: last.Connector, customerId: last.Customer });
  for (let index = 0; index < OTHERS; index++) {
    const [otherId, userId] = await stranger(index);
    const lastOfOther = await fill(otherId, userId, ROWS_OF_OTHERS);
    if (index < OTHERS_IN_TROUBLE) await addTrouble(otherId, lastOfOther);
    Object.assign(ids, { otherId, otherUserId: userId });
  }
  await sql.query(
    `INSERT INTO "Project" ("id", "userId", "name", "walletAddress") SELECT id, $2, 'x', '0x' FROM unnest($1::text[]) AS id`,
    [Array.from({ length: ROWS }, () => newId('Project')), rows[0].userId],
  );
  await sql.query(
    `INSERT INTO "Invitation" ("id", "projectId", "email", "role", "invitedById", "invitedByName", "expiresAt")
     SELECT new_id('inv'), "id", $1, 'VIEWER', "userId", 'x', now() + interval '1 day' FROM "Project" WHERE "name" = 'x'`,
    [ADDRESS],
  );
  await sql.query(
    `INSERT INTO "User" ("id", "issuer", "subject") SELECT id, 'https://issuer.test', id FROM unnest($1::text[]) AS id`,
    [Array.from({ length: ROWS }, () => newId('User'))],
  );
  await sql.query(`INSERT INTO "Customer" ("id", "projectId", "walletAddress") VALUES ($1, $2, $3)`, [
    newId('Customer'),
    projectId,
    WALLET,
  ]);
  const [empty] = (await sql.query(`SELECT max("id") AS "id" FROM "Project"`)).rows;
  ids.emptyId = empty.id;
  await sql.query(
    `INSERT INTO "Webhook" ("id", "projectId", "url", "eventTypes", "secret", "pausedAt") VALUES ($1, $2, 'x', '{}', 'x', now())`,
    [newId('Webhook'), ids.emptyId],
  );
  await sql.query(`INSERT INTO "PreviousPrice" SELECT "id", 1, now() + interval '1 hour' FROM "Endpoint"`);
  await sql.query(
    `INSERT INTO "BuyerRules" ("projectId", "allowedWallets", "deniedWallets") SELECT "id", '{}', '{}' FROM "Project"`,
  );
  await sql.query(
    `INSERT INTO "PaymentAnswer" ("paymentId", "statusCode", "headers", "body", "expiresAt") SELECT "id", 200, '{}', '', now() FROM "Payment"`,
  );
  await sql.query(`INSERT INTO "WebhookToken" ("id", "projectId") SELECT "id", "projectId" FROM "Webhook"`);
  await sql.query('VACUUM ANALYZE');
});

afterAll(async () => {
  await app?.stop();
  await sql?.end();
  await database?.drop();
});

async function stranger(index: number): Promise<[projectId: string, userId: string]> {
  const [projectId, userId] = [newId('Project'), newId('User')];
  await sql.query(`INSERT INTO "User" ("id", "issuer", "subject") VALUES ($1, 'https://issuer.test', $2)`, [
    userId,
    `u${index}`,
  ]);
  await sql.query(`INSERT INTO "Project" ("id", "userId", "name", "walletAddress") VALUES ($1, $2, 'x', '0x')`, [
    projectId,
    userId,
  ]);
  return [projectId, userId];
}

/** Adds deliveries that are held, and payments that the facilitator didn't verify. */
async function addTrouble(projectId: string, last: Record<string, string>): Promise<void> {
  await sql.query(
    `INSERT INTO "Delivery" ("id", "projectId", "eventId", "eventType", "webhookId", "nextAttemptAt", "reason")
     SELECT new_id('dlv'), $1, $2, 'endpoint.created', $3, NULL, 'paused' FROM generate_series(1, $4)`,
    [projectId, last.Event, last.Webhook, ROWS_OF_OTHERS],
  );
  await sql.query(
    `INSERT INTO "Payment" ("id", "projectId", "endpointId", "endpointPath", "method", "status", "failureStage", "failureReason",
       "x402Version", "network", "asset", "assetAddress", "payer", "payTo", "nonce", "amountAtomic", "validAfter", "validBefore",
       "requestFingerprint")
     SELECT new_id('pay'), $1, 'x', '/x', 'GET', 'FAILED', 'VERIFY', 'facilitator_unavailable', 2, 'eip155:84532', 'USDC', 'x', 'x',
       'x', $1 || step, 1, now(), now(), 'x'
     FROM generate_series(1, $2) AS step`,
    [projectId, FAILED_PAYMENTS],
  );
}

/** Creates `count` rows of every listable type. Child rows belong to the last parent. Returns each type's last ID. */
async function fill(projectId: string, userId: string, count: number): Promise<Record<string, string>> {
  const last: Record<string, string> = {};
  const insert = async (type: IdType, columns: string, values: string) => {
    const made = Array.from({ length: count }, () => newId(type));
    last[type] = made.at(-1)!;
    await sql.query(
      `INSERT INTO "${type}" ("id", "projectId", ${columns})
       SELECT id, $2::text, ${values} FROM unnest($1::text[], $3::text[]) AS made (id, owner)`,
      [made, projectId, made.map(() => userId)],
    );
  };
  await insert('Endpoint', '"path", "upstreamUrl", "priceAtomic"', `'/' || id, 'https://x.test/', 1`);
  await insert('ApiKey', '"name", "environment", "hash", "last4"', `id, 'TEST', id, '1234'`);
  await insert('Webhook', '"url", "eventTypes", "secret"', `'https://x.test/', '{*}', 'x'`);
  await insert('Connector', '"type", "config", "secretConfig", "eventTypes"', `'slack', '{}', 'x', '{*}'`);
  await insert('Event', '"type", "data"', `'endpoint.created', '{}'`);
  for (const by of ['Webhook', 'Connector'] as const) {
    await insert(
      'Delivery',
      `"eventId", "eventType", "status", "nextAttemptAt", "${by.toLowerCase()}Id"`,
      `'${last.Event}', 'endpoint.created', 'SUCCEEDED', NULL, '${last[by]}'`,
    );
  }
  await sql.query(
    `WITH people AS (
       INSERT INTO "User" ("id", "issuer", "subject")
       SELECT new_id('usr'), 'https://members.test', gen_random_uuid() FROM generate_series(1, $2::int) RETURNING "id"
     )
     INSERT INTO "ProjectMember" ("id", "projectId", "userId", "role", "name")
     SELECT new_id('mem'), $1, "id", 'VIEWER', 'x' FROM people`,
    [projectId, count],
  );
  const sent = '"email", "role", "invitedById", "invitedByName", "expiresAt"';
  await insert('Invitation', sent, `id || '@x.test', 'VIEWER', owner, 'x', now() + interval '1 day'`);
  await insert('Replay', '"filter", "maxPerSecond", "total", "startedBy"', `'{}', 1, 1, owner`);
  await insert('Notice', '"type", "subjectId", "subject"', `'host.lost', id, 'x'`);
  const who = '"userId", "actorKind", "actorId", "actorName"';
  await insert(
    'AuditEntry',
    `${who}, "action", "targetId", "changes"`,
    `owner, 'USER', owner, 'x', 'webhook.created', id, '{}'`,
  );
  const first = '"paymentCount", "totalAtomic", "firstPaymentAt", "lastPaymentAt"';
  await insert('Customer', `"walletAddress", ${first}`, `id, 1, 1 + length(id), now(), now()`);
  const what =
    '"network", "asset", "assetAddress", "payer", "payTo", "nonce", "amountAtomic", "validAfter", "validBefore"';
  await insert(
    'Payment',
    `"endpointId", "endpointPath", "method", "customerId", "status", "x402Version", ${what}, "requestFingerprint", "verifiedAt", "settledAt"`,
    `'x', '/x', 'GET', '${last.Customer}', 'SETTLED', 2, 'eip155:84532', 'USDC', id, id, id, id, 1, now(), now(), id, now(), now()`,
  );
  return last;
}

/** Builds a query for a list of each type. */
const PLACES: Record<string, (list: string) => string> = {
  Query: (list) => list,
  Viewer: (list) => `viewer { ${list} }`,
  Project: (list) => `project(id: "${ids.projectId}") { ${list} }`,
  Webhook: (list) => `node(id: "${ids.webhookId}") { ... on Webhook { ${list} } }`,
  Connector: (list) => `node(id: "${ids.connectorId}") { ... on Connector { ${list} } }`,
  Customer: (list) => `node(id: "${ids.customerId}") { ... on Customer { ${list} } }`,
};

const lists = Object.values(schema.getTypeMap())
  .filter((type) => isObjectType(type))
  .flatMap((type) =>
    Object.values((type as GraphQLObjectType).getFields()).map((field) => ({ type: type.name, field })),
  )
  .filter(({ field }) => getNamedType(field.type).name.endsWith('Connection'))
  .flatMap(({ type, field }) =>
    ordersOf(field).map((orderBy) => {
      const order = orderBy && `orderBy: ${orderBy}, `;
      return { type, list: field.name, order, name: `${type}.${field.name} ${orderBy}`.trim() };
    }),
  );

/** The sort orders of a list, or an empty string if it has only one. */
function ordersOf({ args }: GraphQLField<unknown, unknown>): string[] {
  const order = args.find(({ name }) => name === 'orderBy');
  if (!order) return [''];
  return (getNamedType(order.type) as GraphQLEnumType).getValues().map(({ name }) => name);
}

/** Returns the SQL statements that the service sends during `work`. */
async function statementsOf(work: () => Promise<void>): Promise<Statement[]> {
  const sent: Statement[] = [];
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const [first, others] = args as [string | Partial<Statement> | undefined, unknown[] | undefined];
    const { text, values = [] } = typeof first === 'string' ? { text: first, values: others } : (first ?? {});
    if (text) sent.push({ text, values });
    return Reflect.apply(query, this, args);
  } as typeof query;
  try {
    await work();
  } finally {
    pg.Client.prototype.query = query;
  }
  return sent;
}

/**
 * Counts the index entries and rows that a statement reads, including any that it doesn't return.
 *
 * @param tables the names of the tables and partitions that count.
 */
async function rowsReadBy({ text, values }: Statement, tables = /./): Promise<number> {
  const { rows } = await sql.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values);
  const count = (plan: Plan): number =>
    (tables.test(plan['Relation Name'] ?? '')
      ? (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops']
      : 0) + (plan.Plans ?? []).reduce((sum, child) => sum + count(child), 0);
  return count(rows[0]['QUERY PLAN'][0].Plan);
}

async function planOf({ text, values }: Statement): Promise<string[]> {
  const { rows } = await sql.query(`EXPLAIN (FORMAT JSON) ${text}`, values);
  const nodes = (plan: Plan): string[] => [plan['Node Type'], ...(plan.Plans ?? []).flatMap(nodes)];
  return nodes(rows[0]['QUERY PLAN'][0].Plan);
}

test('every type with a list has a query in PLACES', () => {
  expect(lists.length).toBeGreaterThan(12);
  for (const { type } of lists) expect(Object.keys(PLACES), 'add a query for this type to PLACES').toContain(type);
});

/**
 * A person gets few project offers, because each account can make only a limited number per day. An offer can be
 * addressed to the person or to their email address, so no single index returns offers in order. The health of accounts
 * is calculated for all of them.
 */
const isLong = (list: { name: string }) => !['Viewer.transfers', 'Query.operatorHealth'].includes(list.name);
/** API keys have no invitations and aren't operators, so nothing is read for them. */
const isSeenBy = (who: string) => (list: { name: string }) =>
  who === 'a person' || !['Query.operatorUsers', 'Viewer.invitations'].includes(list.name);

describe.each(['a person', 'an API key'])('for %s', (who) => {
  test.each(lists.filter(isLong).filter(isSeenBy(who)))(
    'a page of $name is read from an index in order, without sorting all rows',
    async ({ type, list, order }) => {
      const sent = await statementsOf(async () => {
        const { errors } = await callers[who]!.graphql(
          `{ ${PLACES[type]!(`${list}(${order}first: 20) { edges { cursor } }`)} }`,
        );
        expect(errors).toBeUndefined();
      });
      const pages = sent.filter(({ text }) => /^SELECT.*\sORDER BY\s.*\sLIMIT\s/s.test(text));
      expect(pages, JSON.stringify(sent)).toHaveLength(1);
      const plan = await planOf(pages[0]!);
      expect(plan).toContain('Limit');
      expect(
        plan.filter((node) => /Sort|Seq Scan|Bitmap/.test(node)),
        pages[0]!.text,
      ).toEqual([]);
      expect(plan.some((node) => /^Index (Only )?Scan$/.test(node))).toBe(true);
    },
  );

  test.each(['endpoints', 'apiKeys', 'webhooks', 'connectors', 'customers'])(
    'the totalCount of %s reads an index of the project’s items',
    async (list) => {
      const sent = await statementsOf(async () => {
        const { data, errors } = await callers[who]!.graphql<{ project: Record<string, { totalCount: number }> }>(
          `{ ${PLACES.Project!(`${list}(first: 1) { totalCount }`)} }`,
        );
        expect(errors).toBeUndefined();
        expect(data!.project[list]!.totalCount).toBe(list === 'apiKeys' ? ROWS + 1 : ROWS);
      });
      const [count] = sent.filter(({ text }) => /count\(\*\)/i.test(text));
      expect(count, JSON.stringify(sent)).toBeDefined();
      expect(await planOf(count!), count!.text).not.toContain('Seq Scan');
      expect(await rowsReadBy(count!), count!.text).toBeLessThan(ROWS + 20);
    },
  );

  test.each([
    ['pending', 'status: [PENDING]'],
    ['pending and running', 'status: [PENDING, RUNNING]'],
    ['failed', 'status: [FAILED]'],
    ['recent', `since: "${new Date(Date.now() + 2 * 3_600_000).toISOString()}"`],
  ])('a list of %s deliveries reads no other part of the history', async (_, filter) => {
    const sent = await statementsOf(async () => {
      const list = `deliveries(first: 20, filter: { ${filter} }) { edges { cursor } }`;
      const { errors } = await callers[who]!.graphql(`{ ${PLACES.Project!(list)} }`);
      expect(errors).toBeUndefined();
    });
    const [page] = sent.filter(({ text }) => /^SELECT.*"Delivery".*\sORDER BY\s/s.test(text));
    expect(await rowsReadBy(page!), page!.text).toBeLessThan(5);
  });

  test.each<[string, string]>([
    ['audit log of a user who did nothing', `audit-log?actorId=${newId('User')}`],
    ['audit log of a resource', `audit-log?targetId=${newId('Webhook')}`],
    ['audit log of a rare action', 'audit-log?action=project.deleted'],
    ['audit log of a period without entries', 'audit-log?to=2020-01-01T00:00:00Z'],
    ['payments of high amounts', 'payments?minAmountUsd=100'],
    ['payments of low amounts', 'payments?maxAmountUsd=0'],
    ['payments with an identifier', 'payments?identifier=order-1'],
    ['payments of a period without payments', 'payments?to=2020-01-01T00:00:00Z'],
    ['payments that finished in a period without payments', 'payments?finishedTo=2020-01-01T00:00:00Z'],
    ['deliveries that finished in a period without deliveries', 'deliveries?finishedTo=2020-01-01T00:00:00Z'],
    ['deliveries of a missing event', `deliveries?eventId=${firstIdAt('Event', 1_700_000_000_000)}`],
    ['deliveries of a period without deliveries', 'deliveries?to=2020-01-01T00:00:00Z'],
    ['events of a period without events', 'events?to=2020-01-01T00:00:00Z'],
    ['events about a missing customer', `events?resourceId=${newId('Customer')}`],
    ['customers who spent a lot', 'customers?minTotalUsd=100'],
    ['customers of a period without payments', 'customers?to=2020-01-01T00:00:00Z&orderBy=TOTAL'],
    ['items with a transaction hash', `search?q=0x${'ab'.repeat(32)}`],
    ['items of a wallet', `search?q=0x${'ab'.repeat(20)}`],
    ['the payments of a customer without any', `search?q=${WALLET}`],
  ])('a search for %s reads only matching rows', async (_what, path) => {
    const sent = await statementsOf(async () => {
      expect((await callers[who]!.rest('GET', `/api/projects/${ids.projectId}/${path}`)).status).toBe(200);
    });
    const tables = /"(AuditEntry|Payment|Delivery|Event|Customer)"/;
    const reads = sent.filter(({ text }) => /^\s*\(?SELECT/.test(text) && tables.test(text));
    expect(reads.length).toBeGreaterThan(0);
    for (const read of reads) expect(await rowsReadBy(read), read.text).toBeLessThan(5);
  });

  test.each([
    ['failed', ['FAILED']],
    ['unknown', ['UNKNOWN']],
    ['unfinished', ['CLAIMED', 'VERIFIED', 'SERVED', 'SETTLING', 'UNKNOWN']],
    ['failed and unfinished', ['FAILED', 'CLAIMED', 'UNKNOWN']],
  ])('a list of %s payments reads no other part of the history', async (_, status) => {
    const caller = callers[who]!;
    const ways = {
      async graphql() {
        const list = `payments(first: 20, filter: { status: [${status.join(', ')}] }) { edges { cursor } }`;
        expect((await caller.graphql(`{ ${PLACES.Project!(list)} }`)).errors).toBeUndefined();
      },
      async rest() {
        const query = status.map((name) => `status=${name}`).join('&');
        expect((await caller.rest('GET', `/api/projects/${ids.projectId}/payments?${query}`)).status).toBe(200);
      },
    };
    for (const [way, ask] of Object.entries(ways)) {
      const [page] = (await statementsOf(ask)).filter(({ text }) => /^SELECT.*"Payment".*\sORDER BY\s/s.test(text));
      expect(await rowsReadBy(page!), `${way}: ${page!.text}`).toBeLessThan(5);
    }
  });
});

/**
 * The collation of IDs is different from that of the columns that refer to them, so a comparison of the two uses no index
 * by itself.
 */
describe('rows are found by the ID that they refer to, without reading those of others', () => {
  const writer = {
    query: async (bound: BoundStatement) => {
      const { text, values } = queryOf(bound);
      return (await sql.query(text, [...values])).rows;
    },
  } as Writer;
  const prisma = {
    $queryRawUnsafe: async (text: string, ...values: unknown[]) => (await sql.query(text, values)).rows,
  } as unknown as PrismaClient;
  const noCredentials = () => () => ({}) as never;
  const empty = () => ids.emptyId!;
  const inDays = (days: number) => Date.now() + days * 86_400_000;
  const check = (now: () => number) =>
    createNoticeChecks({ retentionDays: 90, log: pino({ level: 'silent' }), now })(sql);
  const operator = (path: string) => callers['a person']!.rest('GET', `/api/operator/${path}`);

  test.each<[what: string, statement: RegExp, run: () => Promise<unknown>]>([
    ['the memberships of a caller', /FROM "ProjectMember" m/, () => operator('users?limit=1')],
    ['the destinations of an event', /FROM "Webhook"/, () => findDestinations(writer, [empty()], ['endpoint.created'])],
    ['the destination of a test event', /FROM "Webhook"/, () => findNamed(writer, empty(), newId('Webhook'))],
    [
      'the destinations that someone asks about',
      /FROM "Webhook"/,
      async () => {
        const { rows } = await sql.query('SELECT "userId" FROM "Project" WHERE "id" = $1', [empty()]);
        const viewer = { kind: 'user', userId: rows[0].userId } as Viewer;
        return findInVisible(sql, viewer, empty(), ['endpoint.created']);
      },
    ],
    ['the routes of a project', /FROM "Endpoint" e/, () => loadRoutes(sql, ids.otherId!, [], noCredentials)],
    ['the version of a project’s routes', /FROM "Endpoint" e/, () => readRoutesVersion(sql, ids.otherId!)],
    ['the catalog of a project', /FROM "Endpoint" e/, () => loadCatalog(sql, ids.otherId!)],
    [
      'the token of a webhook',
      /"WebhookToken" token/,
      () => createTokenStore(sql, 'webhook').read({ id: ids.webhookId!, projectId: ids.projectId! }),
    ],
    [
      'projects with deliveries to count',
      /FROM "Delivery" d/,
      () => sql.query(findProjectsWithDeliveries('true', MAX_ROWS), [ids.otherId, new Date()]),
    ],
    [
      'projects with payments to count',
      /FROM "Payment" y/,
      () => sql.query(findProjectsWithPayments('true', MAX_ROWS), [ids.otherId, new Date()]),
    ],
    [
      'the connectors of an account',
      /FROM "Project" p JOIN "Connector" c/,
      () => countConnectors(prisma, ids.otherUserId!),
    ],
    [
      'the responses of failed payments',
      /DELETE FROM "PaymentAnswer"/,
      async () => {
        const events = { destinationsOf: async () => [], recordAll() {} } as unknown as EventService;
        const cause = {
          stage: 'UPSTREAM',
          reason: 'x',
          message: 'x',
          upstream: undefined,
          traceContext: null,
        } as const;
        const of = {
          paymentId: newId('Payment'),
          projectId: ids.otherId!,
          payer: 'x',
          leaseToken: 1,
          from: ['VERIFIED'],
          now: null,
        } as const;
        await createFailStep(events, createFanOut()).run(writer as BatchClient, [{ ...of, ...cause }]);
      },
    ],
    ['the usage of an account', /AS "waitingDeliveryCount"/, () => operator(`users/${ids.otherUserId}`)],
  ])('%s', async (_what, wanted, run) => {
    const found = (await statementsOf(async () => void (await run()))).filter(({ text }) => wanted.test(text));
    expect(found.length).toBeGreaterThan(0);
    for (const statement of found)
      expect(await rowsReadBy(statement, OTHERS_TABLES), statement.text).toBeLessThan(MAX_ROWS);
  });

  test.each([
    ['deliveries that will soon expire', 'deliveries.expiring', () => inDays(100), ROWS_OF_OTHERS],
    ['payments that the facilitator didn’t verify', 'facilitator.unreachable', Date.now, FAILED_PAYMENTS],
  ])('%s, a page of projects at a time', async (_what, type, now, ofEach) => {
    const found = (await statementsOf(() => check(now))).filter(({ values }) => values.includes(type));
    const read = await Promise.all(found.map((statement) => rowsReadBy(statement, /^(Delivery|Payment)/)));
    // For each of the others, a few more rows are read, such as the last verified payment.
    expect(read.reduce((sum, count) => sum + count)).toBeLessThan(OTHERS_IN_TROUBLE * ofEach + 5 * OTHERS);
    expect(found.length).toBeGreaterThan(10);
  });

  test('the health of all accounts reads only projects in which something needs attention', async () => {
    const [statement] = (await statementsOf(async () => void (await operator('health')))).filter(({ text }) =>
      text.includes('AS "overdueDeliveryCount"'),
    );
    expect(await rowsReadBy(statement!, /^(?!Delivery_)./)).toBeLessThan(10);
    // Each project with waiting deliveries is found by skipping to its first one.
    expect(await rowsReadBy(statement!)).toBeLessThan(OTHERS_IN_TROUBLE * (ROWS_OF_OTHERS + 2));
  });

  test('the count of failed deliveries stops at a limit', async () => {
    const job = {
      projectId: ids.projectId as VisibleProjectId,
      filter: { status: ['SUCCEEDED' as const] },
      createdAt: new Date(),
    };
    let total: number | undefined;
    const [statement] = await statementsOf(async () => {
      total = await countReplay(sql, job, 10);
    });
    expect(total).toBe(10);
    expect(await rowsReadBy(statement!)).toBeLessThan(20);
  });
});
