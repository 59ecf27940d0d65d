import { expect, test } from 'vitest';
import { createBadPayments } from '../../../src/gateway/payment/bad-payments.ts';
import { createMemoryRateLimiter, type RateLimiter } from '../../../src/limits/rate-limit.ts';

/** The clock stands still, so the limits don't refill, and nobody may try again. */
const now = () => 0;
const noCheck = { check() {}, async countAddress() {} };
const newLimiter = () => createMemoryRateLimiter({ now });

/** Sends bad payments from this address until one is rejected early. Returns how many weren't. */
async function sendBad(badPayments: ReturnType<typeof createBadPayments>, address: string, max = 100): Promise<number> {
  for (let count = 0; count < max; count++) {
    const attempt = await badPayments(address, 'project')
      .reserve()
      .catch(() => undefined);
    if (!attempt) return count;
    attempt.fail();
    await new Promise(setImmediate);
  }
  return max;
}

async function sendBadFrom(badPayments: ReturnType<typeof createBadPayments>, addresses: string[]): Promise<number> {
  let sum = 0;
  for (const address of addresses) sum += await sendBad(badPayments, address);
  return sum;
}

const blocks = (count: number, prefix = '2001:db8:1') =>
  Array.from({ length: count }, (_, index) => `${prefix}:${index.toString(16)}::1`);

test('an IPv6 /48 can make 600 bad payments a minute, no matter how many of its /64s it uses', async () => {
  const badPayments = createBadPayments(newLimiter(), noCheck, now);
  expect(await sendBadFrom(badPayments, blocks(9))).toBe(540);
  expect(await sendBadFrom(badPayments, blocks(1_000))).toBe(60 + 1);
  await expect(badPayments('2001:db8:1:ffff::9', 'project').reserve()).rejects.toMatchObject({
    code: 'RATE_LIMITED',
    retryAfterSeconds: 1,
  });
  expect(await sendBad(badPayments, '2001:db8:2::1')).toBe(60);
});

test('an IPv4 /24 can make 1,200 bad payments a minute', async () => {
  const badPayments = createBadPayments(newLimiter(), noCheck, now);
  expect(
    await sendBadFrom(
      badPayments,
      Array.from({ length: 250 }, (_, index) => `203.0.113.${index}`),
    ),
  ).toBe(1_201);
  expect(await sendBad(badPayments, '203.0.112.1')).toBe(60);
});

test('payments that turn out later to be bad count against the network too, in all processes', async () => {
  const limiter = newLimiter();
  const [one, other] = [createBadPayments(limiter, noCheck, now), createBadPayments(limiter, noCheck, now)];
  for (const address of blocks(601)) {
    const { reserve, onUnpaid } = one(address, 'project');
    (await reserve()).giveBack();
    onUnpaid();
  }
  await new Promise(setImmediate);
  await expect(one('2001:db8:1:ffff::1', 'project').reserve()).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  // Each process finds out from its first bad payment.
  expect(await sendBadFrom(other, blocks(100, '2001:db8:1'))).toBe(1);
});

test('a good payment causes no calls for its network', async () => {
  const calls: string[] = [];
  const limiter = newLimiter();
  const recorded = new Proxy(limiter, {
    get: (target, name: keyof RateLimiter) => (key: string, limitPerMinute: number) => {
      calls.push(`${name} ${key}`);
      return target[name](key, limitPerMinute);
    },
  });
  (await createBadPayments(recorded, noCheck, now)('2001:db8:1::1', 'project').reserve()).giveBack();
  await new Promise(setImmediate);
  expect(calls).toEqual(['take payments 2001:db8:1::', 'giveBack payments 2001:db8:1::']);
});
