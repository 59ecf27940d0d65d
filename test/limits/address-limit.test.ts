import { expect, test } from 'vitest';
import { createAddressLimit } from '../../src/limits/address-limit.ts';
import { createMemoryRateLimiter } from '../../src/limits/rate-limit.ts';

function open() {
  let time = 0;
  let asked = 0;
  const now = () => time;
  const memory = createMemoryRateLimiter({ now });
  const limit = createAddressLimit({
    rateLimiter: {
      ...memory,
      take(...values) {
        asked++;
        return memory.take(...values);
      },
    },
    scope: 'free',
    what: 'free requests',
    requestsPerMinute: 60,
    now,
  });
  return {
    pass: (milliseconds: number) => {
      time += milliseconds;
    },
    asked: () => asked,
    /** Returns how many of `count` requests are allowed. */
    async allowed(count: number, address = '203.0.113.5', bucket = 'proj_1') {
      const results = await Promise.allSettled(Array.from({ length: count }, () => limit.take(address, bucket)));
      return results.filter(({ status }) => status === 'fulfilled').length;
    },
    take: () => limit.take('203.0.113.5', 'proj_1'),
  };
}

test('an address gets its requests per minute, which refill evenly', async () => {
  const { allowed, pass, take } = open();
  expect(await allowed(100)).toBe(60);
  await expect(take()).rejects.toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: 1 });
  pass(10_000);
  expect(await allowed(100)).toBe(10);
});

test('each address and each bucket has its own limit, and an IPv6 /64 counts as one address', async () => {
  const { allowed } = open();
  expect(await allowed(60, '2001:db8::1')).toBe(60);
  expect(await allowed(1, '2001:db8::ffff')).toBe(0);
  expect(await allowed(1, '2001:db8:0:1::1')).toBe(1);
  expect(await allowed(1, '2001:db8::1', 'proj_2')).toBe(1);
});

test('a flood of requests beyond the limit is rejected without counting each of them', async () => {
  const { allowed, asked, pass } = open();
  await allowed(60);
  for (let round = 0; round < 100; round++) expect(await allowed(1)).toBe(0);
  expect(asked()).toBe(61);
  pass(1_000);
  expect(await allowed(1)).toBe(1);
});
