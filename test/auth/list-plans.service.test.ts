import { type GraphQLEnumType, type GraphQLField, type GraphQLObjectType, getNamedType, isObjectType } from 'graphql';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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
  for (let index = 0; index < OTHERS; index++) await fill(...(await stranger(index)), ROWS_OF_OTHERS);
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
    `"endpointId", "endpointPath", "method", "customerId", "status", "x402Version", ${what}, "requestFingerprint", "settledAt"`,
    `'x', '/x', 'GET', '${last.Customer}', 'SETTLED', 2, 'eip155:84532', 'USDC', id, id, id, id, 1, now(), now(), id, now()`,
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

/** Counts the index entries and rows that a statement reads, including any that it doesn't return. */
async function rowsReadBy({ text, values }: Statement): Promise<number> {
  const { rows } = await sql.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values);
  const count = (plan: Plan): number =>
    (plan['Relation Name'] ? (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops'] : 0) +
    (plan.Plans ?? []).reduce((sum, child) => sum + count(child), 0);
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
