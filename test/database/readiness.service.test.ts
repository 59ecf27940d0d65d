import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createReadiness } from '../../src/database/readiness.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
let pool: pg.Pool;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = new pg.Pool({ connectionString: database.url, max: 1 });
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

const pagesOf = async () => {
  const { rows } = await pool.query(`SELECT pg_relation_size('"ReadinessProbe"') / 8192 AS pages`);
  return Number(rows[0].pages);
};

test('each readiness check writes a new page and leaves no row', async () => {
  const before = await pagesOf();
  // Creates a new check each time, because a check caches its result for a while.
  for (let index = 0; index < 3; index++) await createReadiness(pool)();
  expect(await pagesOf()).toBe(before + 3);
  expect((await pool.query('SELECT 1 FROM "ReadinessProbe"')).rowCount).toBe(0);
});

test('a hundred simultaneous readiness checks write only once', async () => {
  const before = await pagesOf();
  const isReady = createReadiness(pool);
  await Promise.all(Array.from({ length: 100 }, isReady));
  expect(await pagesOf()).toBe(before + 1);
});

test('readiness does not wait for the table locks of a backup', async () => {
  const backup = new pg.Client({ connectionString: database.url });
  await backup.connect();
  await backup.query('BEGIN; LOCK TABLE "ReadinessProbe" IN ACCESS SHARE MODE');
  await createReadiness(pool)();
  await backup.end();
});

test('a failed readiness check leaves no connection in a transaction', async () => {
  await pool.query('SET default_transaction_read_only = on');
  await expect(createReadiness(pool)()).rejects.toMatchObject({ code: '25006' });
  await createReadiness(pool)();
});
