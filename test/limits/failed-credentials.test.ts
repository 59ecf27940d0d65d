import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../src/errors.ts';
import { createFailedCredentials } from '../../src/limits/failed-credentials.ts';
import { createMemoryRateLimiter } from '../../src/limits/rate-limit.ts';

function withClock(options: { maxKeys?: number } = {}) {
  let time = 0;
  const now = () => time;
  const failed = createFailedCredentials({
    rateLimiter: createMemoryRateLimiter({ ...options, now }),
    scope: 'credentials',
    what: 'credentials',
    failuresPerMinute: 30,
    now,
  });
  return {
    ...failed,
    pass: (milliseconds: number) => {
      time += milliseconds;
    },
    fail: async (address: string, count = 1) => {
      for (let index = 0; index < count; index++) (await failed.reserve(address)).fail();
    },
    isStopped: async (address: string) => {
      try {
        (await failed.reserve(address)).giveBack();
        return false;
      } catch (error) {
        expect(error).toBeInstanceOf(AppError);
        expect(error).toMatchObject({ code: 'RATE_LIMITED', status: 429 });
        return true;
      }
    },
  };
}

describe('failed credentials', () => {
  test('are allowed thirty times per minute, then the address has to wait', async () => {
    const { fail, isStopped, reserve, pass } = withClock();
    await fail('203.0.113.5', 29);
    expect(await isStopped('203.0.113.5')).toBe(false);
    await fail('203.0.113.5');
    await expect(reserve('203.0.113.5')).rejects.toMatchObject({ retryAfterSeconds: 2 });
    pass(2000);
    expect(await isStopped('203.0.113.5')).toBe(false);
  });

  test('are allowed thirty times out of six hundred concurrent attempts', async () => {
    const { reserve } = withClock();
    let looked = 0;
    const outcomes = await Promise.allSettled(
      Array.from({ length: 600 }, async () => {
        const attempt = await reserve('203.0.113.5');
        looked += 1;
        await new Promise(setImmediate);
        attempt.fail();
      }),
    );
    expect(looked).toBe(30);
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(570);
  });

  test('do not include requests with good credentials, sequential or concurrent', async () => {
    const { isStopped } = withClock();
    for (let index = 0; index < 1000; index++) expect(await isStopped('203.0.113.5')).toBe(false);
    const atOnce = await Promise.all(Array.from({ length: 1000 }, () => isStopped('203.0.113.5')));
    expect(new Set(atOnce)).toEqual(new Set([false]));
  });

  test('still count even if their reservations are given back afterward', async () => {
    const { reserve, isStopped } = withClock();
    for (let index = 0; index < 30; index++) {
      const attempt = await reserve('203.0.113.5');
      attempt.fail();
      attempt.giveBack();
    }
    expect(await isStopped('203.0.113.5')).toBe(true);
  });

  test('do not extend the wait while the address is blocked', async () => {
    const { record, isStopped, pass } = withClock();
    for (let index = 0; index < 1000; index++) record('203.0.113.5');
    expect(await isStopped('203.0.113.5')).toBe(true);
    pass(60_000);
    expect(await isStopped('203.0.113.5')).toBe(false);
  });

  test.each([
    ['the same IPv4 address', '203.0.113.5', '203.0.113.5', true],
    ['an IPv4 address written as IPv6', '203.0.113.5', '::ffff:203.0.113.5', true],
    ['a neighboring IPv4 address', '203.0.113.5', '203.0.113.6', false],
    ['the same IPv6 /64', '2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', true],
    ['another spelling', '2001:db8:1:2::1', '2001:0DB8:0001:0002:0:0:0:9', true],
    ['the next /64', '2001:db8:1:2::1', '2001:db8:1:3::1', false],
    ['two strings that are not addresses', 'unknown', 'x', true],
  ])('count together or separately, as expected, for %s', async (_what, one, other, isSame) => {
    const { fail, isStopped } = withClock();
    await fail(one, 30);
    expect(await isStopped(other)).toBe(isSame);
  });

  test('can be recorded for any string as an address', async () => {
    const { isStopped, record } = withClock();
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.ipV4(), fc.ipV6(), fc.string()), async (address) => {
        record(address);
        await isStopped(address);
      }),
    );
  });

  test('do not unblock an address that is still trying, even if many other addresses fail too', async () => {
    const { fail, record, isStopped } = withClock({ maxKeys: 100 });
    await fail('203.0.113.5', 30);
    for (let index = 0; index < 10_000; index++) {
      record(`10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`);
      if (index % 50 === 0) record('203.0.113.5');
    }
    expect(await isStopped('203.0.113.5')).toBe(true);
  });
});

describe('failures that are discovered later', () => {
  const ADDRESS = '203.0.113.5';
  const later = () => new Promise(setImmediate);

  /** Processes that share a rate limiter. */
  function processes(count: number) {
    const now = () => 0;
    const rateLimiter = createMemoryRateLimiter({ now });
    const options = { scope: 'payments', what: 'payments', failuresPerMinute: 30, now };
    return Array.from({ length: count }, () => createFailedCredentials({ rateLimiter, ...options }));
  }

  test.each([
    [1, 100],
    [2, 100],
    [2, 6],
  ])(
    'stop an address, through %i processes and %i connections that always have another credential',
    async (processCount, connectionCount) => {
      const entries = processes(processCount);
      let accepted = 0;
      const outcomes = await Promise.allSettled(
        Array.from({ length: connectionCount }, async (_, index) => {
          const { reserve, record } = entries[index % processCount]!;
          while (accepted < 1_000) {
            const attempt = await reserve(ADDRESS);
            await later();
            attempt.giveBack();
            accepted += 1;
            await later();
            record(ADDRESS);
          }
        }),
      );
      expect(accepted).toBeGreaterThanOrEqual(30);
      expect(accepted).toBeLessThanOrEqual(30 + connectionCount);
      expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['rejected']));
    },
  );

  test('affect nobody else at the address until there are thirty, and then block everyone there', async () => {
    const [{ reserve, record }] = processes(1) as [ReturnType<typeof createFailedCredentials>];
    let failures = 0;
    const seen: number[] = [];
    const outcomes = await Promise.allSettled(
      Array.from({ length: 100 }, async () => {
        while (seen.length < 2_000) {
          const attempt = await reserve(ADDRESS);
          seen.push(failures);
          await later();
          attempt.giveBack();
          if (seen.length % 20 !== 0 || failures === 30) continue;
          failures += 1;
          record(ADDRESS);
        }
      }),
    );
    expect(failures).toBe(30);
    expect(seen.length).toBeLessThan(2_000);
    expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['rejected']));
  });

  test('count in addition to concurrent attempts that also fail', async () => {
    const { reserve, record, isStopped, fail } = withClock();
    const attempts = await Promise.all(Array.from({ length: 10 }, () => reserve(ADDRESS)));
    for (let index = 0; index < 10; index++) record(ADDRESS);
    for (const attempt of attempts) attempt.fail();
    await fail(ADDRESS, 9);
    expect(await isStopped(ADDRESS)).toBe(false);
    await fail(ADDRESS);
    expect(await isStopped(ADDRESS)).toBe(true);
  });

  test('count even above the limit, and the address has to wait until they are refilled', async () => {
    const { record, isStopped, pass } = withClock();
    // Fifteen more than the limit. One is refilled every two seconds.
    for (let index = 0; index < 45; index++) record(ADDRESS);
    pass(30_000);
    expect(await isStopped(ADDRESS)).toBe(true);
    pass(2_000);
    expect(await isStopped(ADDRESS)).toBe(false);
  });
});
