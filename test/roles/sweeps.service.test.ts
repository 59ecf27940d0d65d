import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { CLEAN_UPS, runDueSweeps } from '../../src/roles/sweeps.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const log = pino({ level: 'silent' });
let database: TestDatabase;
let pool: pg.Pool;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = new pg.Pool({ connectionString: database.url });
});
beforeEach(() => pool.query('TRUNCATE "Sweep"'));
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

test('each sweep runs in only one of several processes, and again ten minutes later', async () => {
  const rounds = await Promise.all([1, 2, 3, 4].map(() => runDueSweeps(pool, log, CLEAN_UPS)));
  const names = [
    ...['connectorAuthorizations', 'idempotencyKeys', 'keptResponses', 'notices'],
    ...['rateLimits', 'refusedPayments', 'releasedHosts'],
  ];
  expect(rounds.flat().sort()).toEqual(names);
  await pool.query(`UPDATE "Sweep" SET "startedAt" = "startedAt" - interval '9 minutes'`);
  expect(await runDueSweeps(pool, log, CLEAN_UPS)).toEqual([]);
  await pool.query(`UPDATE "Sweep" SET "startedAt" = "startedAt" - interval '1 minute'`);
  expect((await runDueSweeps(pool, log, CLEAN_UPS)).sort()).toEqual(names);
});

test('sweeps still run if another one fails', async () => {
  await pool.query('ALTER TABLE "RateLimit" RENAME TO "Gone"');
  try {
    expect(await runDueSweeps(pool, log, CLEAN_UPS)).toEqual([
      ...['idempotencyKeys', 'keptResponses', 'refusedPayments', 'connectorAuthorizations', 'notices', 'releasedHosts'],
    ]);
  } finally {
    await pool.query('ALTER TABLE "Gone" RENAME TO "RateLimit"');
  }
});
