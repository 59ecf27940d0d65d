import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openQueuePool } from '../../../src/database/client.ts';
import { STATEMENTS } from '../../../src/database/statement.ts';
import '../../../src/delivery/queue/parking.ts';
import '../../../src/delivery/queue/turns.ts';
import { openStage, type Stage } from '../support.ts';
import { type PlanNode, rowsRead } from './rows-read.ts';

const BACKLOG = 100_000;
let stage: Stage;
let queue: pg.Pool;
let blackHole: string;
let others: string[];
/** A webhook of another account. */
let newcomer: string;
/** The account of `blackHole` and `others`. */
let account: string;
const clients: pg.PoolClient[] = [];

beforeAll(async () => {
  stage = await openStage();
  queue = openQueuePool(stage);
  const ids = await Promise.all(
    Array.from({ length: 100 }, async (_, index) => (await stage.addWebhook(`http://127.0.0.1:9/${index}`)).id),
  );
  [blackHole, ...others] = ids as [string, ...string[]];
  account = (await stage.pool.query('SELECT "userId" FROM "Project" WHERE "id" = $1', [stage.projectId])).rows[0]
    .userId;
  const projectId = await stage.addProject();
  newcomer = (await stage.addWebhook('http://127.0.0.1:9/newcomer', { projectId })).id;
  // As in a worker, the statements are prepared while nothing is due, so their plans ignore the later backlog.
  await load('old', ids, 30, `'SUCCEEDED', NULL, 1`);
  await runLong('ANALYZE', []);
  clients.push(await prepare());
  await load('hole', [blackHole], BACKLOG, `'PENDING', now() - interval '1 hour', n % 2`);
  await load('other', others, 2, `'PENDING', now(), 0`);
  await load('newcomer', [newcomer], 2, `'PENDING', now(), n % 2`, projectId);
});
afterAll(async () => {
  for (const client of clients) client.release();
  await queue?.end();
  await stage?.close();
});

/** Runs a statement that may take longer than the service's own. */
async function runLong(text: string, values: unknown[]): Promise<void> {
  const long = await stage.pool.connect();
  try {
    await long.query('BEGIN; SET LOCAL statement_timeout = 0');
    await long.query(text, values);
    await long.query('COMMIT');
  } finally {
    long.release();
  }
}

/** Stores events with a delivery to each webhook. */
async function load(
  name: string,
  webhooks: string[],
  count: number,
  state: string,
  projectId = stage.projectId,
): Promise<void> {
  await runLong(
    `INSERT INTO "Event" ("id", "projectId", "type", "data")
     SELECT 'evt_${name}_' || n, $1, 'endpoint.created', '{}' FROM generate_series(1, $2::int) AS n`,
    [projectId, count],
  );
  await runLong(
    `INSERT INTO "Delivery" ("id", "projectId", "eventId", "eventType", "webhookId", "updatedAt", "status", "nextAttemptAt", "attemptCount")
     SELECT 'del_${name}_' || webhook || n, $1, 'evt_${name}_' || n, 'endpoint.created', webhook, now(), ${state}
     FROM generate_series(1, $2::int) AS n, unnest($3::text[]) AS webhook`,
    [projectId, count, webhooks],
  );
}

const TYPES = 'int, float8, text[], int[], int, int, text[], int[], int, text[], int[], int, text[], text[], int[]';
const request = (capacity: number) =>
  `256, 30, ARRAY['${blackHole}'], ARRAY[${capacity}], 64, 256, '{}', '{}', 2048, '{}', '{}', 2048, '{}', '{}', '{}'`;
const EXECUTE = {
  due: (capacity: number, passOver = '{}') =>
    `EXECUTE claim_due(${request(capacity)}, '${passOver}', '{-Infinity,-Infinity}', 256)`,
  inTurn: (most: number) =>
    `EXECUTE claim_in_turn(${request(64)}, '{}', '{-Infinity,-Infinity}', '{${account}}', '{100}', '${account}', ${most})`,
  parked: (capacity: number, turns = '{}') => `EXECUTE claim_parked(${request(capacity)}, '', 256, '${turns}')`,
  park: (most: number) => `EXECUTE park('{${blackHole}}', ${most}, '{-Infinity,-Infinity}')`,
  parkNewest: (most: number) => `EXECUTE park_newest('{${blackHole}}', ${most}, '{-Infinity,-Infinity}')`,
};

/** Opens a connection and prepares and runs the statements of a claim on it. */
async function prepare(): Promise<pg.PoolClient> {
  const client = await queue.connect();
  await client.query(`PREPARE claim_due(${TYPES}, text[], float8[], int) AS ${STATEMENTS.get('delivery_claim_due')}`);
  const inTurn = STATEMENTS.get('delivery_claim_in_turn');
  await client.query(`PREPARE claim_in_turn(${TYPES}, text[], float8[], text[], float8[], text, int) AS ${inTurn}`);
  await client.query(`PREPARE claim_parked(${TYPES}, text, int, text[]) AS ${STATEMENTS.get('delivery_claim_parked')}`);
  await client.query(`PREPARE park(text[], int, float8[]) AS ${STATEMENTS.get('delivery_park')}`);
  await client.query(`PREPARE park_newest(text[], int, float8[]) AS ${STATEMENTS.get('delivery_park_newest')}`);
  const statements = [EXECUTE.due(0), EXECUTE.inTurn(10), EXECUTE.parked(0), EXECUTE.park(10), EXECUTE.parkNewest(10)];
  await client.query(`BEGIN; ${statements.join('; ')}; ROLLBACK`);
  return client;
}

/** Claims deliveries the way the worker does, then rolls back. */
async function claim(client: pg.PoolClient, statement: string) {
  await client.query('BEGIN');
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
    `EXPLAIN (ANALYZE, TIMING off, FORMAT JSON) ${statement}`,
  );
  const { rows: running } = await client.query<{ webhookId: string; n: number }>(
    `SELECT "webhookId", count(*)::int AS n FROM "Delivery" WHERE "status" = 'RUNNING' GROUP BY 1`,
  );
  await client.query('ROLLBACK');
  const taken = new Map(running.map(({ webhookId, n }) => [webhookId, n]));
  return { read: rowsRead(rows[0]!['QUERY PLAN'][0].Plan), taken };
}

describe.each([
  ['before the backlog existed', 0],
  ['with a backlog', 1],
])('a claim planned %s, with 100,000 due deliveries to one destination', (_, index) => {
  beforeAll(async () => {
    if (index === 0) return;
    // Invalidates earlier plans.
    await runLong('ANALYZE', []);
    clients.push(await prepare());
  });

  test('reads few rows beyond those it takes', async () => {
    const { read, taken } = await claim(clients[index]!, EXECUTE.due(64));
    expect(taken).toEqual(new Map([[blackHole, 64]]));
    expect(read).toBeLessThan(3_000);
  });

  test('finds the deliveries of another account among the last ones', async () => {
    const { read, taken } = await claim(clients[index]!, EXECUTE.inTurn(500));
    expect(taken).toEqual(new Map([[newcomer, 2]]));
    expect(read).toBeLessThan(3_000);
  });

  test.each([
    ['the oldest', EXECUTE.park],
    ['the newest', EXECUTE.parkNewest],
  ])('reads few rows beyond those it parks, if it parks %s', async (_name, statement) => {
    const { read } = await claim(clients[index]!, statement(500));
    expect(read).toBeLessThan(3_000);
  });

  test.each([
    ['a claim from the queue', EXECUTE.due(64)],
    ['a claim in turn', EXECUTE.inTurn(500)],
    ['parking', EXECUTE.park(500)],
  ])('%s finds a destination in a hash table, because thousands may be parked', async (_name, statement) => {
    const { rows } = await clients[index]!.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${statement}`);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toMatch(/Filter: .*COALESCE\("webhookId", "connectorId"\).*hashed SubPlan/);
  });
});

describe('when all deliveries of a long backlog are parked', () => {
  let client: pg.PoolClient;
  beforeAll(async () => {
    client = await prepare();
    await runLong(`UPDATE "Delivery" SET "isParked" = true WHERE "webhookId" = $1 AND "outcome" IS NULL`, [blackHole]);
    // Adds destinations with no deliveries due before tomorrow.
    const sleeping = await Promise.all(
      Array.from({ length: 500 }, async (_, number) => (await stage.addWebhook(`http://127.0.0.1:9/s${number}`)).id),
    );
    await load('sleeping', sleeping, 2, `'PENDING', now() + interval '1 day', n % 2`);
  });
  afterAll(() => client.release());

  test('a claim from the queue reads only due deliveries to other destinations', async () => {
    const { read, taken } = await claim(client, EXECUTE.due(0));
    for (const other of [...others, newcomer]) expect(taken.get(other)).toBe(2);
    expect(taken.get(blackHole)).toBeUndefined();
    expect(read).toBeLessThan(3_000);
  });

  test.each([
    ['no capacity', 0, undefined, 10],
    ['an open circuit', -4, undefined, 10],
    ['room for one', 1, 1, 30],
    ['room for twenty', 20, 20, 300],
  ])(
    'a claim of parked deliveries reads few rows when their destination has %s',
    async (_, capacity, fromHole, most) => {
      const { read, taken } = await claim(client, EXECUTE.parked(capacity));
      expect(taken).toEqual(new Map(fromHole ? [[blackHole, fromHole]] : []));
      expect(read).toBeLessThan(most);
      const inTurn = await claim(client, EXECUTE.parked(capacity, `{${[blackHole, ...others]}}`));
      expect(inTurn.taken).toEqual(taken);
      expect(inTurn.read).toBeLessThan(most + 50 * others.length);
    },
  );
});
