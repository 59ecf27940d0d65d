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

test('every sweep deletes rows in batches', async () => {
  const statements: string[] = [];
  const recorded = new Proxy(pool, {
    get: (target, name) =>
      name === 'query'
        ? (statement: pg.QueryConfig) => {
            statements.push(statement.text);
            return target.query(statement);
          }
        : Reflect.get(target, name),
  });
  for (const { run } of Object.values(CLEAN_UPS)) await run(recorded);
  const deletes = statements.filter((text) => /DELETE/.test(text));
  expect(deletes.length).toBeGreaterThanOrEqual(Object.keys(CLEAN_UPS).length);
  expect(deletes.filter((text) => !/LIMIT/.test(text))).toEqual([]);
});

test('a sweep that takes longer than its period does not run twice at the same time in a process, and delays no other', async () => {
  const release = Promise.withResolvers<void>();
  const running = new Set<string>();
  let starts = 0;
  const long = async () => {
    starts += 1;
    await release.promise;
  };
  const sweeps = { long: { periodSeconds: 0, run: long } };
  const first = runDueSweeps(pool, log, sweeps, running);
  await expect.poll(() => starts).toBe(1);
  const more = { ...sweeps, other: { periodSeconds: 0, run: async () => {} } };
  expect(await runDueSweeps(pool, log, more, running)).toEqual(['other']);
  release.resolve();
  expect(await first).toEqual(['long']);
  expect(await runDueSweeps(pool, log, sweeps, running)).toEqual(['long']);
  expect(starts).toBe(2);
});

test('each sweep runs in only one of several processes, and again after its period', async () => {
  const rounds = await Promise.all([1, 2, 3, 4].map(() => runDueSweeps(pool, log, CLEAN_UPS)));
  const names = [
    ...['buyerUsage', 'connectorAuthorizations', 'idempotencyKeys', 'invitations', 'keptResponses', 'notices'],
    ...['rateLimits', 'refusedPayments', 'releasedHosts', 'transfers'],
  ];
  expect(rounds.flat().sort()).toEqual(names);
  expect(await runDueSweeps(pool, log, CLEAN_UPS)).toEqual([]);
  await pool.query(`UPDATE "Sweep" SET "startedAt" = "startedAt" - interval '9 minutes'`);
  expect(await runDueSweeps(pool, log, CLEAN_UPS)).toEqual(['keptResponses', 'refusedPayments']);
  await pool.query(`UPDATE "Sweep" SET "startedAt" = "startedAt" - interval '1 minute'`);
  expect((await runDueSweeps(pool, log, CLEAN_UPS)).sort()).toEqual(names);
});

test('sweeps still run if another one fails', async () => {
  await pool.query('ALTER TABLE "RateLimit" RENAME TO "Gone"');
  try {
    expect(await runDueSweeps(pool, log, CLEAN_UPS)).toEqual([
      ...['idempotencyKeys', 'keptResponses', 'refusedPayments', 'buyerUsage', 'connectorAuthorizations'],
      ...['invitations', 'transfers', 'notices', 'releasedHosts'],
    ]);
  } finally {
    await pool.query('ALTER TABLE "Gone" RENAME TO "RateLimit"');
  }
});
