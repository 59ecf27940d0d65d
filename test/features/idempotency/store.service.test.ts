import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createIdempotencyStore, type IdempotencyStore } from '../../../src/features/idempotency/store.ts';
import { parseKeyring } from '../../../src/secrets/keyring.ts';
import { createSecretBox } from '../../../src/secrets/secret-box.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { waitingStatements } from '../../support/waiting-statements.ts';

const MEGABYTE = 1024 * 1024;
/** An account may store this much in one step. */
const ACCOUNT_BYTES = 64 * MEGABYTE;
const RESPONSE_BYTES = 250 * 1024;
const POOL_SIZE = 8;
const REQUESTS = 20;

let database: TestDatabase;
let pool: pg.Pool;
let store: IdempotencyStore;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = new pg.Pool({ connectionString: database.url, max: POOL_SIZE });
  const keyring = parseKeyring(`test:${randomBytes(32).toString('base64')}`);
  store = createIdempotencyStore({ pool, poolSize: POOL_SIZE, secretBox: createSecretBox(keyring) });
});

afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

let keys = 0;

/** Claims a key that is free. */
async function begin(claim: Parameters<IdempotencyStore['begin']>[0]) {
  const begun = await store.begin(claim);
  if (typeof begun === 'string' || 'status' in begun) throw new Error(`The key is in use: ${JSON.stringify(begun)}`);
  return begun;
}

/** Finishes a request and returns what a retry gets. */
async function finish(bytes: number, claim: { accountId: string; scope?: string }) {
  const { accountId, scope = accountId } = claim;
  const [key, fingerprint] = [`key-${++keys}`, 'f'];
  const attempt = await begin({ accountId, scope, key, fingerprint });
  await attempt.finish({ status: 200, headers: {}, body: 'x'.repeat(bytes) });
  const known = await store.begin({ accountId, scope, key, fingerprint });
  return typeof known === 'object' ? 'stored' : known;
}

test('an account stores at most 64 MB of large responses, no matter which of its API keys the requests came from', async () => {
  const outcomes: string[] = [];
  while (keys * RESPONSE_BYTES < 1.1 * ACCOUNT_BYTES)
    outcomes.push(await finish(RESPONSE_BYTES, { accountId: 'usr_1', scope: `key_${keys % 3}` }));
  const stored = outcomes.filter((outcome) => outcome === 'stored').length;
  expect(stored * RESPONSE_BYTES).toBeLessThanOrEqual(ACCOUNT_BYTES);
  expect(stored * RESPONSE_BYTES).toBeGreaterThan(0.95 * ACCOUNT_BYTES);
  expect(new Set(outcomes.slice(stored))).toEqual(new Set(['not_stored']));

  expect(await finish(1000, { accountId: 'usr_1' })).toBe('stored');
  expect(await finish(RESPONSE_BYTES, { accountId: 'usr_2' })).toBe('stored');
});

test('a response over 256 KB is not stored, and its key can never be reused', async () => {
  expect(await finish(256 * 1024, { accountId: 'usr_3' })).toBe('not_stored');
  const claim = { accountId: 'usr_3', scope: 'usr_3', key: `key-${keys}`, fingerprint: 'f' };
  await pool.query(`UPDATE "IdempotencyKey" SET "createdAt" = now() - interval '1 hour' WHERE "key" = $1`, [claim.key]);
  expect(await store.begin(claim)).toBe('not_stored');
  expect(await store.begin({ ...claim, fingerprint: 'other' })).toBe('reused');
});

test('a request that was stopped for more than a minute neither finishes nor releases the key of its retry', async () => {
  const claim = { accountId: 'usr_4', scope: 'usr_4', key: 'stopped', fingerprint: 'f' };
  const stopped = await begin(claim);
  await pool.query(`UPDATE "IdempotencyKey" SET "createdAt" = now() - interval '61 seconds' WHERE "key" = 'stopped'`);
  const retry = await begin(claim);
  await stopped.abandon();
  await stopped.finish({ status: 200, headers: {}, body: 'stopped' });
  expect(await store.begin(claim)).toBe('in_flight');
  await retry.finish({ status: 200, headers: {}, body: 'retry' });
  await stopped.abandon();
  expect(await store.begin(claim)).toEqual({ status: 200, headers: {}, body: 'retry' });
});

test("an account's requests with keys use a quarter of the connections, and others do not wait for them", async () => {
  const holder = new pg.Client({ connectionString: database.url });
  const observer = new pg.Pool({ connectionString: database.url, max: 1 });
  await holder.connect();
  const waiting = (count: number) =>
    vi.waitFor(async () => expect(await waitingStatements(observer)).toBe(count), { timeout: 30_000 });
  const claims = (accountId: string, count: number) =>
    Array.from({ length: count }, (_, index) =>
      begin({ accountId, scope: accountId, key: `${index}`, fingerprint: 'f' }),
    );
  try {
    await holder.query('BEGIN; LOCK TABLE "IdempotencyKey"');
    const many = claims('usr_5', REQUESTS);
    await waiting(POOL_SIZE / 4);
    const other = claims('usr_6', 1);
    await waiting(POOL_SIZE / 4 + 1);
    expect((await pool.query('SELECT 1')).rowCount).toBe(1);
    await holder.query('COMMIT');
    const attempts = await Promise.all([...many, ...other]);

    await holder.query('BEGIN; LOCK TABLE "IdempotencyKey"');
    const ends = attempts.map((attempt, index) =>
      index % 2 === 0 ? attempt.abandon() : attempt.finish({ status: 200, headers: {}, body: '' }),
    );
    await waiting(POOL_SIZE / 4 + 1);
    expect((await pool.query('SELECT 1')).rowCount).toBe(1);
    await holder.query('COMMIT');
    await Promise.all(ends);
  } finally {
    await holder.end();
    await observer.end();
  }
});
