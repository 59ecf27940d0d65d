import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LeaseLost, leaseOf } from '../../../src/features/payments/lease.ts';
import type { Ledger } from '../../../src/features/payments/ledger.ts';
import type { NewPayment } from '../../../src/features/payments/payment-record.ts';
import { createDailySummaries } from '../../../src/features/revenue/daily-summary.ts';
import { newId } from '../../../src/ids.ts';
import { parseUsd } from '../../../src/money.ts';
import { answer, hex, log, newPayment, openTestLedger, reconciledOf, type TestLedger } from './support.ts';

const FIRST_DAY = Date.parse('2026-05-01T00:00:00Z');
const DAY = 86_400_000;
const MILESTONES = [1_000n, 20_000n, 300_000n];
const OUTCOMES = ['settled', 'reconciled', 'verify', 'upstream', 'settle', 'unpaid', 'open', 'unknown'] as const;

let one: TestLedger;
let two: TestLedger;
let now = new Date(FIRST_DAY);

beforeAll(async () => {
  one = await openTestLedger({ now: () => now });
  two = await openTestLedger({ url: one.url, now: () => now });
});
afterAll(async () => {
  await two?.close();
  await one?.close();
});

type Plan = { input: NewPayment; outcome: (typeof OUTCOMES)[number]; repeats: number };

/** Takes the same step several times in parallel, as processes that don't know about each other would. */
async function often<T>(repeats: number, step: (ledger: Ledger) => Promise<T>): Promise<T> {
  const results = await Promise.all(
    Array.from({ length: repeats }, (_, index) => step((index % 2 ? two : one).ledger)),
  );
  return results[0]!;
}

async function carryOut({ input, outcome, repeats }: Plan): Promise<void> {
  const claims = await Promise.all(Array.from({ length: repeats }, () => one.ledger.claim(input)));
  const payment = claims.find(({ kind }) => kind === 'claimed')!.payment;
  const lease = leaseOf(payment);
  const reconciled = reconciledOf(lease);
  const fail = (stage: 'VERIFY' | 'UPSTREAM' | 'SETTLE', by: typeof lease | typeof reconciled = lease) =>
    often(repeats, (ledger) => ledger.failed(by, { stage, reason: 'because', message: 'Because.' }));
  const result = { transactionHash: hex(32), settledAt: now };

  if (outcome === 'open') return;
  if (outcome === 'verify') return void (await fail('VERIFY'));
  await often(repeats, (ledger) => ledger.verified(lease));
  if (outcome === 'upstream') return void (await fail('UPSTREAM'));
  await often(repeats, (ledger) => ledger.served(lease, answer()));
  if (outcome === 'settle') return void (await fail('SETTLE'));
  if (outcome === 'settled') return void (await often(repeats, (ledger) => ledger.settled(lease, result)));
  await one.ledger.unknown(lease, { reason: 'timeout' });
  if (outcome === 'unpaid') await fail('SETTLE', reconciled);
  if (outcome === 'reconciled') {
    // Two processes find the payment on the chain while another one considers it failed. The first result that is
    // recorded counts.
    const race = await Promise.allSettled([
      often(repeats, (ledger) => ledger.settled(reconciled, result)),
      often(repeats, (ledger) => ledger.settled(reconciled, result)),
      fail('SETTLE', reconciled),
    ]);
    for (const settled of race) if (settled.status === 'rejected') expect(settled.reason).toBeInstanceOf(LeaseLost);
  }
}

const atomic = (value: { toFixed(decimals: 0): string }) => BigInt(value.toFixed(0));
const sum = (values: bigint[]) => values.reduce((total, value) => total + value, 0n);

async function checkBooks(projectId: string): Promise<void> {
  const { prisma } = one.db;
  const where = { projectId };
  const payments = await prisma.payment.findMany({ where });
  const customers = await prisma.customer.findMany({ where });
  const days = await prisma.revenueDay.findMany({ where });
  const events = await one.eventsOf(projectId);
  const settled = payments.filter(({ status }) => status === 'SETTLED');
  const failed = payments.filter(({ status }) => status === 'FAILED');
  // Payments that failed before verification don't belong to a customer, because their sender is unproven.
  const booked = failed.filter(({ failureStage }) => failureStage !== 'VERIFY');

  // Totals by customer, by day, and by endpoint match to the atomic unit.
  const total = sum(settled.map(({ amountAtomic }) => atomic(amountAtomic)));
  expect(sum(customers.map(({ totalAtomic }) => atomic(totalAtomic)))).toBe(total);
  expect(sum(days.map(({ totalAtomic }) => atomic(totalAtomic)))).toBe(total);
  for (const customer of customers) {
    const own = settled.filter(({ customerId }) => customerId === customer.id);
    expect(customer.paymentCount).toBe(own.length);
    expect(atomic(customer.totalAtomic)).toBe(sum(own.map(({ amountAtomic }) => atomic(amountAtomic))));
    const times = own.map(({ settledAt }) => settledAt!.getTime());
    expect(customer.firstPaymentAt?.getTime()).toBe(own.length > 0 ? Math.min(...times) : undefined);
    expect(customer.lastPaymentAt?.getTime()).toBe(own.length > 0 ? Math.max(...times) : undefined);
  }
  for (const { day, endpointId, totalAtomic, paymentCount } of days) {
    const own = settled.filter(
      (payment) =>
        payment.endpointId === endpointId && Math.floor(payment.settledAt!.getTime() / DAY) * DAY === day.getTime(),
    );
    expect(paymentCount).toBe(own.length);
    expect(atomic(totalAtomic)).toBe(sum(own.map(({ amountAtomic }) => atomic(amountAtomic))));
  }
  expect(days.reduce((count, { failedCount }) => count + failedCount, 0)).toBe(booked.length);

  // There is one event for everything that happened, and no event for anything that didn't.
  const told = (type: string) =>
    events.filter((event) => event.type === type).map(({ data }) => data as Record<string, string>);
  expect(
    told('payment.settled')
      .map(({ paymentId }) => paymentId)
      .sort(),
  ).toEqual(settled.map(({ id }) => id).sort());
  expect(
    told('payment.failed')
      .map(({ paymentId }) => paymentId)
      .sort(),
  ).toEqual(booked.map(({ id }) => id).sort());
  expect(
    told('payment.verified')
      .map(({ paymentId }) => paymentId)
      .sort(),
  ).toEqual(
    payments
      .filter(({ verifiedAt }) => verifiedAt)
      .map(({ id }) => id)
      .sort(),
  );
  const paying = customers.filter(({ paymentCount }) => paymentCount > 0);
  expect(
    told('customer.first_payment')
      .map(({ customerId }) => customerId)
      .sort(),
  ).toEqual(paying.map(({ id }) => id).sort());
  for (const customer of paying) {
    const reached = told('customer.milestone').filter(({ customerId }) => customerId === customer.id);
    expect(reached.map(({ milestoneUsd }) => parseUsd(milestoneUsd!))).toEqual(
      MILESTONES.filter((milestone) => milestone <= atomic(customer.totalAtomic)),
    );
  }

  // The summaries add up to the same totals.
  await createDailySummaries({ db: one.db, events: one.events, log, now: () => new Date(FIRST_DAY + 30 * DAY) }).run();
  const summaries = await one.eventsOf(projectId, 'revenue.daily_summary');
  const summed = summaries.map(({ data }) => data as { totalUsd: string; paymentCount: number; failedCount: number });
  expect(sum(summed.map(({ totalUsd }) => parseUsd(totalUsd)!))).toBe(total);
  expect(summed.reduce((count, { paymentCount }) => count + paymentCount, 0)).toBe(settled.length);
  expect(summed.reduce((count, { failedCount }) => count + failedCount, 0)).toBe(booked.length);
}

test('payments, customers, days, and events agree to the atomic unit under concurrent and repeated steps', async () => {
  const payers = [hex(20), hex(20), hex(20)];
  const endpoints = [newId('Endpoint'), newId('Endpoint')];
  const plan = fc.record({
    payer: fc.constantFrom(...payers),
    endpointId: fc.constantFrom(...endpoints),
    amountAtomic: fc.oneof(fc.bigInt({ min: 1n, max: 30_000n }), fc.bigInt({ min: 1n, max: 10n ** 16n })),
    outcome: fc.constantFrom(...OUTCOMES, 'settled' as const, 'settled' as const),
    repeats: fc.integer({ min: 1, max: 3 }),
  });
  const days = fc.array(fc.array(plan, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(days, async (plans) => {
      const { id } = await one.project({ milestonesAtomic: MILESTONES.map(Number) });
      for (const [day, batch] of plans.entries()) {
        now = new Date(FIRST_DAY + day * DAY + 3_600_000);
        await Promise.all(
          batch.map(({ outcome, repeats, ...changes }) =>
            carryOut({ input: newPayment(id, changes), outcome, repeats }),
          ),
        );
      }
      await checkBooks(id);
    }),
    { numRuns: 25 },
  );
});
