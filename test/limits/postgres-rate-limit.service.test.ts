import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/database/client.ts';
import {
  createMemoryRateLimiter,
  createPostgresRateLimiter,
  type RateLimiter,
  sweepRateLimits,
} from '../../src/limits/rate-limit.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { waitingStatements } from '../support/waiting-statements.ts';

const log = pino({ level: 'silent' });
const unused = () => Promise.reject(new Error('The fallback was used.'));
const fallback = { take: unused, record: unused, giveBack: unused };

let database: TestDatabase;
let nodes: Database[];
let limiters: RateLimiter[];

beforeAll(async () => {
  database = await createTestDatabase();
  nodes = await Promise.all([1, 2, 3].map(() => openDatabase({ url: database.url, poolSize: 8, log })));
  limiters = nodes.map(({ pool }) => createPostgresRateLimiter({ pool, log, fallback }));
});

afterAll(async () => {
  await Promise.all(nodes.map((node) => node.close()));
  await database.drop();
});

/** Simulates the passing of time for a key by moving its stored time, because the database's clock cannot be moved. */
async function pass(key: string, seconds: number, sql: Pick<pg.Pool, 'query'> = nodes[0]!.pool): Promise<void> {
  await sql.query(`UPDATE "RateLimit" SET "arrivesAt" = "arrivesAt" - $2 * interval '1 second' WHERE key = $1`, [
    key,
    seconds,
  ]);
}

/** Runs a test with a limiter in one transaction, for which the database's clock stands still. */
async function withoutTime(
  now: () => number,
  run: (limiter: RateLimiter, sql: pg.PoolClient) => Promise<void>,
): Promise<void> {
  const client = await nodes[0]!.pool.connect();
  try {
    await client.query('BEGIN');
    await run(createPostgresRateLimiter({ pool: client as unknown as pg.Pool, log, fallback, now }), client);
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}

describe('rate limits in the database', () => {
  test('allow a hundred out of a thousand concurrent requests to three processes, plus what refills in the meantime', async () => {
    const startedAt = performance.now();
    const results = await Promise.all(
      Array.from({ length: 1000 }, (_, index) => limiters[index % limiters.length]!.take('crowd', 100)),
    );
    const comeBack = Math.floor((performance.now() - startedAt) / 600);
    const admitted = results.filter(({ allowed }) => allowed).length;
    expect(admitted).toBeGreaterThanOrEqual(100);
    expect(admitted).toBeLessThanOrEqual(100 + comeBack);
    for (const { allowed, retryAfterSeconds } of results) expect(retryAfterSeconds).toBe(allowed ? 0 : 1);
  });

  test('have the same results as rate limits in memory', () => {
    let time = 0;
    return withoutTime(
      () => time,
      async (limiter, sql) => {
        const memory = createMemoryRateLimiter({ now: () => time });
        for (const limit of [1, 2, 3]) {
          for (const [seconds, cost] of [
            [0, 1],
            [0, 2],
            [25, 1],
            [0, 1],
            [0, 0],
            [61, 3],
            [10, 1],
            [50, 1],
          ] as const) {
            await pass(`same-${limit}`, seconds, sql);
            time += seconds * 1000;
            const stored = await limiter.take(`same-${limit}`, limit, cost);
            expect(stored).toEqual(await memory.take(`same-${limit}`, limit, cost));
          }
        }
      },
    );
  });

  test('record failures with the same results as in memory, and make an address wait for at most a minute', () => {
    let time = 0;
    return withoutTime(
      () => time,
      async (limiter, sql) => {
        const memory = createMemoryRateLimiter({ now: () => time });
        for (const limit of [1, 2, 3]) {
          for (const [seconds, records] of [
            [0, 1],
            [0, limit - 1],
            [0, 1],
            [0, 100],
            [61, 0],
          ] as const) {
            const key = `recorded-${limit}`;
            await pass(key, seconds, sql);
            time += seconds * 1000;
            for (let index = 0; index < records; index++) {
              const recorded = await limiter.record(key, limit);
              expect(recorded).toEqual(await memory.record(key, limit));
              expect(recorded.retryAfterSeconds).toBeLessThanOrEqual(60);
            }
            expect(await limiter.take(key, limit)).toEqual(await memory.take(key, limit));
          }
        }
      },
    );
  });

  test('refuse a flood without asking the database, until another request could be allowed', async () => {
    let [time, statements] = [0, 0];
    await withoutTime(
      () => time,
      async (_limiter, sql) => {
        const query = (...values: Parameters<typeof sql.query>) => {
          statements += 1;
          return sql.query(...values);
        };
        const limiter = createPostgresRateLimiter({
          pool: { query } as unknown as pg.Pool,
          log,
          fallback,
          now: () => time,
        });
        await limiter.take('refused', 60, 60);
        const refused = await limiter.take('refused', 60);
        expect(refused).toMatchObject({ allowed: false, remaining: 0, retryAfterSeconds: 1 });
        const before = statements;
        for (let index = 0; index < 100; index++) expect(await limiter.take('refused', 60)).toEqual(refused);
        expect(statements).toBe(before);

        expect(await limiter.take('other', 60)).toMatchObject({ allowed: true });
        await limiter.giveBack('refused', 60);
        expect(await limiter.take('refused', 60)).toMatchObject({ allowed: true });
        expect(await limiter.take('refused', 60)).toMatchObject({ allowed: false });
        await pass('refused', 1, sql);
        time += 1_000;
        expect(await limiter.take('refused', 60)).toMatchObject({ allowed: true });
      },
    );
  });

  test.each([1, 7, 60, 300, 999, 1000, 7919])('allow the whole limit of %i at the same time', async (limit) => {
    const key = `burst-${limit}`;
    expect(await limiters[0]!.take(key, limit, limit - 1)).toMatchObject({ allowed: true });
    expect(await limiters[1]!.take(key, limit)).toMatchObject({ allowed: true });
    await pass(key, 61);
    expect(await limiters[2]!.take(key, limit, limit)).toMatchObject({ allowed: true });
  });

  test('are not swept until they are fully refilled and no delivery can depend on them', async () => {
    await limiters[0]!.take('finished', 60);
    await limiters[0]!.take('running', 1);
    await limiters[0]!.take('recent', 60);
    await pass('finished', 180);
    await pass('recent', 100);
    expect(await sweepRateLimits(nodes[0]!.pool)).toBeGreaterThanOrEqual(1);
    const { rows } = await nodes[0]!.pool.query(
      `SELECT key FROM "RateLimit" WHERE key IN ('finished', 'recent', 'running') ORDER BY key`,
    );
    expect(rows).toEqual([{ key: 'recent' }, { key: 'running' }]);
  });
});

describe('while the database fails', () => {
  test('requests are counted in memory, and in the database again afterward', async () => {
    const messages: string[] = [];
    const listeningLog = pino({}, { write: (line: string) => messages.push(JSON.parse(line).msg) });
    const pool = new pg.Pool({ connectionString: database.url, max: 2 });
    const limiter = createPostgresRateLimiter({ pool, log: listeningLog, fallback: createMemoryRateLimiter() });
    await limiter.take('outage', 3, 3);
    await nodes[0]!.pool.query('ALTER TABLE "RateLimit" RENAME TO "Gone"');
    try {
      const results = await Promise.all(Array.from({ length: 10 }, () => limiter.take('outage', 3)));
      expect(results.filter(({ allowed }) => allowed)).toHaveLength(3);
    } finally {
      await nodes[0]!.pool.query('ALTER TABLE "Gone" RENAME TO "RateLimit"');
    }
    expect(await limiter.take('outage', 3)).toMatchObject({ allowed: false });
    expect(messages).toEqual([
      'the database failed; counting rate limits in memory',
      'counting rate limits in the database again',
    ]);
    await pool.end();
  });

  test('requests are also counted in memory if the database cannot be reached', async () => {
    const pool = new pg.Pool({ connectionString: 'postgres://nobody@127.0.0.1:1/none' });
    const limiter = createPostgresRateLimiter({ pool, log, fallback: createMemoryRateLimiter() });
    expect(await limiter.take('a', 60)).toMatchObject({ allowed: true, remaining: 59 });
    expect(await limiter.record('a', 60)).toMatchObject({ allowed: true, remaining: 58 });
    await pool.end();
  });
});

test('requests of one account wait for its stored counter with two connections, and other accounts do not wait for them', async () => {
  const [{ pool }, { pool: observer }] = nodes as [Database, Database];
  const limiter = createPostgresRateLimiter({ pool, log, fallback });
  await limiter.take('flood', 600);
  const holder = await observer.connect();
  await holder.query('BEGIN');
  await holder.query(`SELECT FROM "RateLimit" WHERE key = 'flood' FOR UPDATE`);
  const flood = Array.from({ length: 10 }, () => limiter.take('flood', 600));
  await expect.poll(() => waitingStatements(observer)).toBe(2);
  expect((await limiter.take('other', 600)).allowed).toBe(true);
  expect(await waitingStatements(observer)).toBe(2);
  await holder.query('COMMIT');
  holder.release();
  expect((await Promise.all(flood)).every(({ allowed }) => allowed)).toBe(true);
});
