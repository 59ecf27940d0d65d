import { afterAll, beforeAll, expect, test } from 'vitest';
import { LeaseLost, leaseOf, type PaymentLease } from '../../../src/features/payments/lease.ts';
import { sweepBuyerUsage } from '../../../src/features/payments/usage-sweep.ts';
import type { BuyerLimit } from '../../../src/features/projects/buyers/rules.ts';
import { answer, claimed, hex, newPayment, openTestLedger, type TestLedger } from './support.ts';

let now = new Date('2026-01-31T23:59:59.500Z');
let one: TestLedger;
/** Acts as a second process on the same database. */
let two: TestLedger;

beforeAll(async () => {
  one = await openTestLedger({ now: () => now });
  two = await openTestLedger({ url: one.url, now: () => now });
});

afterAll(async () => {
  await two?.close();
  await one?.close();
});

const requests = (maxRequests: number, period: BuyerLimit['period'] = 'DAY'): BuyerLimit => ({
  period,
  maxRequests,
  maxSpendAtomic: null,
});
const FAILURE = { reason: 'failed', message: 'It failed.' };

/** A project and a wallet that pays it. Each payment is one cent. */
async function market(payer = hex(20)) {
  const { id: projectId } = await one.project();
  return {
    projectId,
    claim: async (changes = {}): Promise<PaymentLease> =>
      leaseOf(await claimed(one.ledger, newPayment(projectId, { payer, ...changes }))),
    async usage() {
      const { rows } = await one.db.pool.query(
        `SELECT "requestCount", "spentAtomic"::int FROM "BuyerUsage" WHERE "projectId" = $1 AND "payer" = $2 ORDER BY "startsAt"`,
        [projectId, payer],
      );
      return rows.map(({ requestCount, spentAtomic }) => [requestCount, spentAtomic]);
    },
  };
}

/** Whether each payment was counted. They arrive at the same time, through both processes. */
async function count(leases: readonly PaymentLease[], limit: BuyerLimit): Promise<boolean[]> {
  const used = leases.map((lease, index) => (index % 2 ? two : one).ledger.countForBuyer(lease, limit));
  return (await Promise.all(used)).map((usage) => usage === undefined);
}

test('of forty simultaneous payments through two processes, exactly as many count as the limit allows', async () => {
  const { claim, usage } = await market();
  const leases = await Promise.all(Array.from({ length: 40 }, () => claim()));
  const counted = await count(leases, requests(7));
  expect(counted.filter(Boolean)).toHaveLength(7);
  expect(await usage()).toEqual([[7, 70_000]]);
  expect(await one.ledger.countForBuyer(await claim(), requests(7))).toEqual({
    requestCount: 7,
    spentAtomic: 70_000n,
    resetsAt: new Date('2026-02-01T00:00:00Z'),
  });
});

test('of two payments that read the count at the same time, only one gets the last place', async () => {
  const { claim, projectId } = await market();
  expect(await count([await claim()], requests(2))).toEqual([true]);
  const leases = [await claim(), await claim()];
  const holder = await one.db.pool.connect();
  try {
    await holder.query('BEGIN');
    await holder.query('SELECT FROM "BuyerUsage" WHERE "projectId" = $1 FOR UPDATE', [projectId]);
    const counting = count(leases, requests(2));
    const waiting = `SELECT count(*)::int AS "count" FROM pg_stat_activity
      WHERE "datname" = current_database() AND "wait_event_type" = 'Lock'`;
    await expect.poll(async () => (await two.db.pool.query(waiting)).rows[0].count).toBe(2);
    await holder.query('COMMIT');
    expect((await counting).filter(Boolean)).toHaveLength(1);
  } finally {
    holder.release();
  }
});

test('the same is true for the money that a wallet may spend', async () => {
  const { claim, usage } = await market();
  const leases = await Promise.all(Array.from({ length: 20 }, () => claim()));
  const counted = await count(leases, { period: 'DAY', maxRequests: 100, maxSpendAtomic: 35_000n });
  expect(counted.filter(Boolean)).toHaveLength(3);
  expect(await usage()).toEqual([[3, 30_000]]);
});

test('wallets, projects, and periods are counted separately', async () => {
  const payer = hex(20);
  const [first, second, other] = [await market(payer), await market(payer), await market()];
  for (const { claim } of [first, second, other]) {
    expect(await count([await claim()], requests(1))).toEqual([true]);
    expect(await count([await claim()], requests(1))).toEqual([false]);
  }
  expect(await count([await first.claim()], requests(1, 'MONTH'))).toEqual([true]);
  expect(await count([await first.claim({ network: 'eip155:8453' })], requests(1))).toEqual([false]);
});

test.each([
  ['HOUR', '2026-01-31T22:59:59.999Z', '2026-01-31T23:00:00.000Z'],
  ['DAY', '2026-01-30T23:59:59.999Z', '2026-01-31T00:00:00.000Z'],
  ['MONTH', '2026-01-31T23:59:59.999Z', '2026-02-01T00:00:00.000Z'],
  ['MONTH', '2024-02-29T23:59:59.999Z', '2024-03-01T00:00:00.000Z'],
] as const)('counts start over after each %s in UTC: after %s', async (period, end, start) => {
  const { claim } = await market();
  const before = now;
  try {
    now = new Date(end);
    expect(await count([await claim()], requests(1, period))).toEqual([true]);
    const refused = await one.ledger.countForBuyer(await claim(), requests(1, period));
    expect(refused!.resetsAt.toISOString()).toBe(start);
    now = new Date(start);
    expect(await count([await claim()], requests(1, period))).toEqual([true]);
  } finally {
    now = before;
  }
});

test('a payment counts once, no matter how often it is counted', async () => {
  const { claim, usage } = await market();
  const lease = await claim();
  expect(await count([lease, lease, lease], requests(1))).toEqual([true, true, true]);
  expect(await usage()).toEqual([[1, 10_000]]);
});

test('payments that fail at any stage no longer count', async () => {
  const { claim, usage } = await market();
  const [unverified, unserved, unsettled, paid] = [await claim(), await claim(), await claim(), await claim()];
  expect(await count([unverified, unserved, unsettled, paid], requests(4))).not.toContain(false);
  for (const lease of [unserved, unsettled, paid]) await one.ledger.verified(lease);
  for (const lease of [unsettled, paid]) await one.ledger.served(lease, answer());
  await one.ledger.settled(paid, { transactionHash: hex(32), settledAt: new Date() });
  await Promise.all([
    one.ledger.failed(unverified, { ...FAILURE, stage: 'VERIFY' }),
    two.ledger.failed(unserved, { ...FAILURE, stage: 'UPSTREAM' }),
    one.ledger.failed(unsettled, { ...FAILURE, stage: 'SETTLE' }),
  ]);
  expect(await usage()).toEqual([[1, 10_000]]);
  expect(await count([await claim(), await claim(), await claim(), await claim()], requests(4))).toHaveLength(4);
  expect(await usage()).toEqual([[4, 40_000]]);
});

test('a refused payment that fails takes nothing from the count', async () => {
  const { claim, usage } = await market();
  expect(await count([await claim()], requests(1))).toEqual([true]);
  const refused = await claim();
  expect(await count([refused], requests(1))).toEqual([false]);
  await one.ledger.failed(refused, { ...FAILURE, stage: 'VERIFY' });
  expect(await usage()).toEqual([[1, 10_000]]);
});

test('if a process dies after counting a payment, it is counted again only by the request that takes it over', async () => {
  const { projectId, claim, usage } = await market();
  const nonce = hex(32);
  const payer = hex(20);
  const dead = await claim({ nonce, payer });
  await one.ledger.countForBuyer(dead, requests(1));
  await one.db.pool.query(`UPDATE "Payment" SET "leasedUntil" = now() WHERE "id" = $1`, [dead.paymentId]);
  const other = await one.project();
  const taken = await claimed(two.ledger, newPayment(other.id, { nonce, payer }));
  expect(taken.id).toBe(dead.paymentId);
  const usageOf = async (project: string) => {
    const { rows } = await one.db.pool.query(
      `SELECT "requestCount" FROM "BuyerUsage" WHERE "projectId" = $1 AND "payer" = $2`,
      [project, payer],
    );
    return rows.map(({ requestCount }) => requestCount);
  };
  expect(await usageOf(projectId)).toEqual([0]);
  expect(await two.ledger.countForBuyer(leaseOf(taken), requests(1))).toBeUndefined();
  expect([await usageOf(projectId), await usageOf(other.id)]).toEqual([[0], [1]]);
  await expect(one.ledger.countForBuyer(dead, requests(1))).rejects.toThrow(LeaseLost);
  expect(await usage()).toEqual([]);
});

test('counts are deleted an hour after their period has ended, and payments in them can still fail', async () => {
  const { claim, usage } = await market();
  const lease = await claim();
  await one.ledger.countForBuyer(lease, requests(1));
  const end = (interval: string) =>
    one.db.pool.query(`UPDATE "BuyerUsage" SET "endsAt" = now() - $1::interval`, [interval]);
  await end('59 minutes');
  await sweepBuyerUsage(one.db.pool);
  expect(await usage()).toHaveLength(1);
  await end('61 minutes');
  await sweepBuyerUsage(one.db.pool);
  expect(await usage()).toEqual([]);
  await one.ledger.failed(lease, { ...FAILURE, stage: 'VERIFY' });
});
