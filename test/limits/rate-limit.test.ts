import fc from 'fast-check';
import type pg from 'pg';
import pino from 'pino';
import { describe, expect, test } from 'vitest';
import { createMemoryRateLimiter, createPostgresRateLimiter, rateLimitHeaders } from '../../src/limits/rate-limit.ts';

const MINUTE = 60_000;

/** A rate limiter whose clock moves only when the test calls `pass`. */
function limiterWithClock(maxKeys?: number) {
  let time = 1_000_000;
  const limiter = createMemoryRateLimiter({ now: () => time, ...(maxKeys && { maxKeys }) });
  return {
    take: limiter.take,
    pass: (milliseconds: number) => {
      time += milliseconds;
    },
    async takeMany(count: number, limit: number, key = 'a') {
      const results = await Promise.all(Array.from({ length: count }, () => limiter.take(key, limit)));
      return results.filter(({ allowed }) => allowed).length;
    },
  };
}

const limits = fc.integer({ min: 1, max: 2000 });

describe('the rate limit', () => {
  test('allows the whole limit at the same time, then one request at a time as it refills', async () => {
    const { takeMany, take, pass } = limiterWithClock();
    expect(await takeMany(100, 60)).toBe(60);
    pass(999);
    expect(await takeMany(5, 60)).toBe(0);
    pass(1);
    expect(await takeMany(5, 60)).toBe(1);
    pass(MINUTE);
    expect(await take('a', 60)).toMatchObject({ allowed: true, limit: 60, remaining: 59, resetSeconds: 1 });
  });

  test('is exact for every limit, and is fully refilled a minute later', () =>
    fc.assert(
      fc.asyncProperty(limits, async (limit) => {
        const { takeMany, pass } = limiterWithClock();
        expect(await takeMany(limit + 5, limit)).toBe(limit);
        pass(MINUTE);
        expect(await takeMany(limit + 5, limit)).toBe(limit);
      }),
      { numRuns: 50 },
    ));

  test('never allows more than the limit plus the refill within any period', () =>
    fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 120 }),
        fc.array(fc.record({ wait: fc.integer({ min: 0, max: 5000 }), burst: fc.integer({ min: 1, max: 40 }) })),
        async (limit, steps) => {
          const { takeMany, pass } = limiterWithClock();
          const admitted: number[] = [];
          let elapsed = 0;
          for (const { wait, burst } of steps) {
            pass(wait);
            elapsed += wait;
            admitted.push(...Array<number>(await takeMany(burst, limit)).fill(elapsed));
          }
          // There are a million pairs, so calling `expect` for each would be too slow.
          const excesses = admitted.flatMap((start, first) =>
            admitted.filter((end, last) => {
              const comeBack = Math.floor(((end - start) * limit) / MINUTE + 1e-3);
              return last - first + 1 > limit + comeBack;
            }),
          );
          expect(excesses).toEqual([]);
        },
      ),
    ));

  test('never rejects requests that come at an even pace', () =>
    fc.assert(
      fc.asyncProperty(limits, async (limit) => {
        const { takeMany, take, pass } = limiterWithClock();
        await takeMany(limit, limit);
        for (let index = 0; index < 50; index++) {
          pass(MINUTE / limit);
          expect((await take('a', limit)).allowed).toBe(true);
        }
      }),
      { numRuns: 50 },
    ));

  test('reports the correct number of remaining requests and the correct wait', () =>
    fc.assert(
      fc.asyncProperty(
        limits,
        fc.nat(2500),
        fc.nat(90_000),
        fc.integer({ min: 1, max: 20 }),
        async (limit, used, wait, cost) => {
          const clock = limiterWithClock();
          await clock.takeMany(used, limit);
          clock.pass(wait);
          const { remaining } = await clock.take('a', limit, 0);
          expect(await clock.takeMany(remaining + 3, limit)).toBe(remaining);
          const refused = await clock.take('a', limit, cost);
          expect(refused.allowed).toBe(false);
          expect(refused.retryAfterSeconds).toBeGreaterThanOrEqual(1);
          expect(refused.retryAfterSeconds).toBeLessThanOrEqual(60);
          clock.pass((refused.retryAfterSeconds - 1) * 1000);
          if (refused.retryAfterSeconds > 1) expect((await clock.take('a', limit, cost)).allowed).toBe(false);
          clock.pass(1000);
          expect((await clock.take('a', limit, cost)).allowed).toBe(true);
        },
      ),
      { numRuns: 300 },
    ));

  test('counts a request by its cost, and a cost above the limit as the limit', async () => {
    const { take, takeMany, pass } = limiterWithClock();
    expect(await take('a', 60, 50)).toMatchObject({ allowed: true, remaining: 10 });
    expect(await take('a', 60, 11)).toMatchObject({ allowed: false, remaining: 10, retryAfterSeconds: 1 });
    expect(await takeMany(20, 60)).toBe(10);
    expect(await take('a', 60, 1000)).toMatchObject({ allowed: false, retryAfterSeconds: 60 });
    pass(MINUTE);
    expect(await take('a', 60, 1000)).toMatchObject({ allowed: true, remaining: 0 });
  });

  test('is separate for each key, and a changed limit applies starting with the next request', async () => {
    const { takeMany } = limiterWithClock();
    expect(await takeMany(60, 60, 'a')).toBe(60);
    expect(await takeMany(60, 60, 'b')).toBe(60);
    expect(await takeMany(10, 600, 'a')).toBe(0);
  });

  test('discards the least recently used keys if there are too many', async () => {
    const { take, takeMany } = limiterWithClock(2);
    await takeMany(60, 60, 'victim');
    await take('attacker', 60);
    expect((await take('victim', 60)).allowed).toBe(false);
    await take('stranger', 60);
    expect(await take('attacker', 60)).toMatchObject({ remaining: 59 });
  });
});

test('requests of one account wait for its stored counter with two connections, and other accounts do not wait for them', async () => {
  const statements: { key: unknown; finish: (result: { rows: { ahead: number }[] }) => void }[] = [];
  const query = ({ values }: { values: unknown[] }) =>
    new Promise((finish) => void statements.push({ key: values[0], finish }));
  const limiter = createPostgresRateLimiter({
    pool: { query } as unknown as pg.Pool,
    log: pino({ level: 'silent' }),
    fallback: createMemoryRateLimiter(),
  });
  const keys = () => statements.map(({ key }) => key);

  const flood = Array.from({ length: 10 }, () => limiter.take('flood', 60));
  const other = limiter.take('other', 60);
  await expect.poll(keys).toEqual(['flood', 'flood', 'other']);
  statements[2]!.finish({ rows: [{ ahead: 1 }] });
  expect((await other).allowed).toBe(true);
  for (let next = 0; next < 11; next++) {
    await expect.poll(() => statements.length).toBeGreaterThan(next);
    statements[next]!.finish({ rows: [{ ahead: 1 }] });
  }
  expect((await Promise.all(flood)).every(({ allowed }) => allowed)).toBe(true);
});

describe('the rate limit headers', () => {
  test('show the limit and what remains', async () => {
    const { take } = limiterWithClock();
    expect(rateLimitHeaders(await take('a', 60, 30))).toEqual({
      'ratelimit-policy': '"default";q=60;w=60',
      ratelimit: '"default";r=30;t=30',
    });
  });

  test('include Retry-After for a rejected request', async () => {
    const { take } = limiterWithClock();
    await take('a', 4, 4);
    expect(rateLimitHeaders(await take('a', 4))).toEqual({
      'ratelimit-policy': '"default";q=4;w=60',
      ratelimit: '"default";r=0;t=60',
      'retry-after': '15',
    });
  });
});
