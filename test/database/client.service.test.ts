import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Database, openDatabase, openQueuePool } from '../../src/database/client.ts';
import { claimDue } from '../../src/delivery/queue/claim.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const log = pino({ level: 'silent' });
let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openDatabase({ url: testDatabase.url, poolSize: 4, log });
});

afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

async function endConnection(pid: number): Promise<void> {
  const client = new pg.Client({ connectionString: testDatabase.url });
  await client.connect();
  await client.query('SELECT pg_terminate_backend($1, 5000)', [pid]);
  await client.end();
}

test('Prisma and direct statements share one pool of connections that have names and timeouts', async () => {
  const settings = `SELECT current_setting('application_name') AS name, current_setting('statement_timeout') AS statement,
    current_setting('lock_timeout') AS lock, current_setting('idle_in_transaction_session_timeout') AS idle`;
  const expected = [{ name: 'tollgate', statement: '15s', lock: '10s', idle: '15s' }];
  expect((await database.pool.query(settings)).rows).toEqual(expected);
  expect(await database.prisma.$queryRawUnsafe(settings)).toEqual(expected);
  expect(database.pool.totalCount).toBe(1);
});

test('Prisma and direct statements agree on times in any server time zone', async () => {
  const name = new URL(testDatabase.url).pathname.slice(1);
  await database.pool.query(`ALTER DATABASE ${name} SET TimeZone TO 'Pacific/Kiritimati'`);
  const fresh = await openDatabase({ url: testDatabase.url, poolSize: 1, log });
  const createdAt = new Date('2026-01-02T03:04:05.678Z');
  await fresh.prisma.user.create({ data: { id: 'usr_1', issuer: 'https://issuer.test', subject: 'ada', createdAt } });
  expect(await fresh.prisma.user.findUnique({ where: { id: 'usr_1' } })).toMatchObject({ createdAt });
  const stored = await fresh.pool.query('SELECT "createdAt" FROM "User" WHERE "createdAt" = $1', [createdAt]);
  expect(stored.rows).toEqual([{ createdAt }]);
  await fresh.close();
});

test('an idle connection that the server closes is logged and replaced', async () => {
  const write = vi.fn();
  const fresh = await openDatabase({ url: testDatabase.url, poolSize: 1, log: pino({ level: 'warn' }, { write }) });
  const { rows } = await fresh.pool.query('SELECT pg_backend_pid() AS pid');
  await endConnection(rows[0].pid);
  await expect.poll(() => fresh.pool.totalCount).toBe(0);
  expect(write.mock.calls.join()).toContain('lost a database connection');
  expect((await fresh.pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  await fresh.close();
});

test('a connection that the server closes during a transaction fails only that transaction', async () => {
  const outcome = database.prisma.$transaction(async (transaction) => {
    const [row] = await transaction.$queryRaw<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
    await endConnection(row!.pid);
    await transaction.$queryRaw`SELECT 1`;
  });
  await expect(outcome).rejects.toThrow();
  expect(await database.prisma.$queryRaw`SELECT 1 AS one`).toEqual([{ one: 1 }]);
});

test('a checked-out connection that the server closes does not crash the process', async () => {
  const client = await database.pool.connect();
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
  await endConnection(rows[0].pid);
  await expect(client.query('SELECT 1')).rejects.toThrow();
  client.release(true);
});

test('at most 500 statements per connection are prepared under names', async () => {
  const single = await openDatabase({ url: testDatabase.url, poolSize: 1, log });
  for (let shape = 0; shape < 510; shape++) {
    await single.prisma.$queryRawUnsafe(`SELECT ${shape} AS "shape"`);
    await single.prisma.$queryRawUnsafe(`SELECT ${shape} AS "shape"`);
  }
  const { rows } = await single.pool.query(
    "SELECT count(*)::int AS count, min(name) AS name FROM pg_prepared_statements WHERE name <> ''",
  );
  expect(rows).toEqual([{ count: 500, name: expect.stringMatching(/^prisma_[\w-]{22}$/) }]);
  await single.close();
});

test('opening a database with wrong credentials fails', async () => {
  const url = new URL(testDatabase.url);
  url.password = 'wrong';
  await expect(openDatabase({ url: url.href, poolSize: 1, log })).rejects.toThrow('password authentication failed');
});

test('closing a database twice is harmless', async () => {
  const other = await openDatabase({ url: testDatabase.url, poolSize: 1, log });
  await Promise.all([other.close(), other.close()]);
  await expect(other.pool.query('SELECT 1')).rejects.toThrow();
});

test('queue statements give up on a lock before PostgreSQL checks for a deadlock', async () => {
  const pool = openQueuePool({ url: testDatabase.url, log });
  const { rows } = await pool.query(
    `SELECT current_setting('lock_timeout')::interval < current_setting('deadlock_timeout')::interval AS "givesWay"`,
  );
  expect(rows).toEqual([{ givesWay: true }]);
  await pool.end();
});

test('queue statements are planned once per connection and never scan a whole table', async () => {
  const pool = openQueuePool({ url: testDatabase.url, log });
  const client = await pool.connect();
  const request = { limit: 10, retryLimit: 10, leaseSeconds: 30, capacity: new Map(), defaultCapacity: 10 };
  for (let count = 0; count < 10; count++) await claimDue(client, request);
  const { rows } = await client.query(
    `SELECT generic_plans::int AS "generic", custom_plans::int AS "custom" FROM pg_prepared_statements WHERE name LIKE 'delivery%'`,
  );
  expect(rows).toEqual([{ generic: 10, custom: 0 }]);
  const plan = await client.query(`EXPLAIN SELECT FROM "Delivery" WHERE "id" = ANY(ARRAY(SELECT "id" FROM "Event"))`);
  expect(JSON.stringify(plan.rows)).not.toContain('Seq Scan on "Delivery');
  client.release();
  await pool.end();
});
