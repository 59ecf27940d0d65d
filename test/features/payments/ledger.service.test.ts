import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { WriteBatcher } from '../../../src/database/write-batcher.ts';
import { EVENT_PAYLOADS, type EventType } from '../../../src/events/types.ts';
import { LeaseLost, leaseOf } from '../../../src/features/payments/lease.ts';
import { createLedger } from '../../../src/features/payments/ledger.ts';
import {
  answer,
  claimed,
  hex,
  newPayment,
  openTestLedger,
  reconciledOf,
  sent,
  settled,
  type TestLedger,
} from './support.ts';

let one: TestLedger;
/** Acts as a second process on the same database. */
let two: TestLedger;

beforeAll(async () => {
  one = await openTestLedger();
  two = await openTestLedger({ url: one.url });
});

afterAll(async () => {
  await two?.close();
  await one?.close();
});

const VERIFY_FAILURE = { stage: 'VERIFY', reason: 'invalid_signature', message: 'The signature is wrong.' } as const;
const UPSTREAM_FAILURE = {
  stage: 'UPSTREAM',
  reason: 'status_500',
  message: 'It failed.',
  upstream: { statusCode: 500, durationMs: 12 },
} as const;
const SETTLE_FAILURE = { stage: 'SETTLE', reason: 'insufficient_funds', message: 'Too poor.' } as const;

/** Ends a payment's lease, as if time had passed. */
async function endLease(paymentId: string): Promise<void> {
  await one.db.prisma
    .$executeRaw`UPDATE "Payment" SET "leasedUntil" = now() - interval '1 second' WHERE "id" = ${paymentId}`;
}

describe('claiming a payment', () => {
  test('assigns a nonce to only one request, even if it arrives a hundred times simultaneously through two processes', async () => {
    const input = newPayment((await one.project()).id);
    const claims = await Promise.all(
      Array.from({ length: 100 }, (_, index) => (index % 2 ? one : two).ledger.claim({ ...input })),
    );
    expect(claims.filter(({ kind }) => kind === 'claimed')).toHaveLength(1);
    expect(new Set(claims.map(({ payment }) => payment.id)).size).toBe(1);
  });

  test('recognizes an authorization regardless of capitalization', async () => {
    const input = newPayment((await one.project()).id);
    await claimed(one.ledger, input);
    const upper = (text: string) => `0x${text.slice(2).toUpperCase()}`;
    const again = await one.ledger.claim({
      ...input,
      nonce: upper(input.nonce),
      payer: upper(input.payer),
      assetAddress: upper(input.assetAddress),
    });
    expect(again.kind).toBe('existing');
    expect(again.payment).toMatchObject({ nonce: input.nonce, payer: input.payer, status: 'CLAIMED', leaseToken: 1 });
  });

  test('distinguishes payments by network, asset, payer, and nonce', async () => {
    const input = newPayment((await one.project()).id);
    await claimed(one.ledger, input);
    for (const change of [
      { network: 'eip155:8453' },
      { assetAddress: hex(20) },
      { payer: hex(20) },
      { nonce: hex(32) },
    ])
      expect(await one.ledger.claim({ ...input, ...change })).toMatchObject({ kind: 'claimed' });
  });

  test('rejects an authorization that another project has claimed', async () => {
    const input = newPayment((await one.project()).id);
    const first = await claimed(one.ledger, input);
    const other = await one.project();
    expect(await one.ledger.claim({ ...input, projectId: other.id })).toEqual({ kind: 'existing', payment: first });
  });

  test('accepts an authorization again as a new payment after its verification failed', async () => {
    const input = newPayment((await one.project()).id);
    const forged = await claimed(one.ledger, input);
    await one.ledger.failed(leaseOf(forged), VERIFY_FAILURE);

    const other = await one.project();
    const real = await claimed(one.ledger, { ...input, projectId: other.id });
    expect(real.id).not.toBe(forged.id);
    expect(await one.ledger.claim(input)).toMatchObject({ kind: 'existing', payment: { id: real.id } });
    const rows = await one.db.prisma.payment.findMany({ where: { nonce: input.nonce }, orderBy: { id: 'asc' } });
    expect(rows).toMatchObject([
      { id: forged.id, projectId: input.projectId, status: 'FAILED' },
      { id: real.id, projectId: other.id, status: 'CLAIMED' },
    ]);
  });

  test('keeps the nonce after later failures, so that an authorization makes at most one upstream call', async () => {
    const project = await one.project();
    const atUpstream = newPayment(project.id);
    const lease = leaseOf(await claimed(one.ledger, atUpstream));
    await one.ledger.verified(lease);
    await one.ledger.failed(lease, UPSTREAM_FAILURE);
    expect(await one.ledger.claim(atUpstream)).toMatchObject({
      kind: 'existing',
      payment: { failureStage: 'UPSTREAM' },
    });

    const atSettlement = newPayment(project.id);
    await one.ledger.failed(await sent(one.ledger, atSettlement), SETTLE_FAILURE);
    expect(await one.ledger.claim(atSettlement)).toMatchObject({
      kind: 'existing',
      payment: { failureStage: 'SETTLE' },
    });
  });

  test('takes over a claim once if its process died before verifying it, with the terms of the new request', async () => {
    const input = newPayment((await one.project()).id);
    const dead = await claimed(one.ledger, input);
    await endLease(dead.id);
    const fresh = { ...input, amountAtomic: 20_000n, endpointPath: '/forecast' };
    const claims = await Promise.all(Array.from({ length: 20 }, () => two.ledger.claim(fresh)));
    expect(claims.filter(({ kind }) => kind === 'claimed')).toHaveLength(1);
    expect(claims[0]!.payment).toMatchObject({ id: dead.id, endpointPath: '/forecast', leaseToken: 2 });
    await expect(one.ledger.verified(leaseOf(dead))).rejects.toThrow(LeaseLost);
  });

  test("doesn't take over a verified payment, even if its lease has ended", async () => {
    const input = newPayment((await one.project()).id);
    const payment = await claimed(one.ledger, input);
    await one.ledger.verified(leaseOf(payment));
    await endLease(payment.id);
    expect(await two.ledger.claim(input)).toMatchObject({ kind: 'existing', payment: { status: 'VERIFIED' } });
  });
});

describe('a claim with a lost result', () => {
  /** Returns a ledger that makes its first claim and runs `meanwhile`, but never gets the result of the claim. */
  function forgetful(meanwhile: () => Promise<unknown>) {
    let isLost = true;
    const step: WriteBatcher['step'] = (original) =>
      one.batcher.step({
        ...original,
        async run(client, items) {
          const results = await original.run(client, items);
          if (!isLost) return results;
          isLost = false;
          await meanwhile();
          return items.map(() => undefined as never);
        },
      });
    return createLedger({ ...one, batcher: { ...one.batcher, step } });
  }

  test('still belongs to the request that made it', async () => {
    const input = newPayment((await one.project()).id);
    expect(await forgetful(async () => {}).claim(input)).toMatchObject({ kind: 'claimed', payment: { leaseToken: 1 } });
  });

  test('belongs to the request that took it over in the meantime', async () => {
    const input = newPayment((await one.project()).id);
    const expire = () =>
      one.db.prisma.$executeRaw`UPDATE "Payment" SET "leasedUntil" = now() WHERE "nonce" = ${input.nonce}`;
    const ledger = forgetful(async () => {
      await expire();
      expect(await two.ledger.claim(input)).toMatchObject({ kind: 'claimed', payment: { leaseToken: 2 } });
    });
    expect(await ledger.claim(input)).toMatchObject({ kind: 'existing' });
  });
});

describe('a payment', () => {
  test('goes from claim to settlement with the right times, response, and events', async () => {
    const project = await one.project();
    const input = newPayment(project.id, { amountAtomic: 1_500_000n });
    const lease = leaseOf(await claimed(one.ledger, input));
    const verified = await one.ledger.verified(lease);
    await one.ledger.served(lease, answer({ requestFingerprint: 'digest' }));
    const transactionHash = `0x${'AB'.repeat(32)}`;
    const settledAt = new Date();
    const payment = await one.ledger.settled(lease, { transactionHash, settledAt });
    expect(payment).toMatchObject({
      status: 'SETTLED',
      customerId: verified.customerId,
      requestFingerprint: 'digest',
      upstreamStatusCode: 200,
      upstreamDurationMs: 12,
      transactionHash: transactionHash.toLowerCase(),
      settledAt,
      authorization: null,
      leasedUntil: null,
      verifiedAt: expect.any(Date),
      servedAt: expect.any(Date),
    });
    expect(payment.amountAtomic.toFixed(0)).toBe('1500000');
    expect(await one.ledger.keptResponse(payment.id)).toEqual({
      statusCode: 200,
      headers: answer().headers,
      body: Buffer.from([0, 255, 1]),
    });

    const events = await one.eventsOf(project.id);
    expect(events.map(({ type }) => type)).toEqual([
      'payment.verified',
      'payment.settled',
      'customer.first_payment',
      'customer.milestone',
    ]);
    for (const { type, data } of events) EVENT_PAYLOADS[type as EventType].parse(data);
    expect(events[1]!.data).toMatchObject({
      paymentId: payment.id,
      amountUsd: '1.5',
      amountAtomic: '1500000',
      payTo: project.walletAddress,
      transactionHash: transactionHash.toLowerCase(),
    });
    expect(events[3]!.data).toMatchObject({ milestoneUsd: '1', totalUsd: '1.5', paymentCount: 1 });
  });

  test("takes each step once, even if a process repeats it because it didn't get the result", async () => {
    const project = await one.project();
    const lease = leaseOf(await claimed(one.ledger, newPayment(project.id)));
    const result = { transactionHash: hex(32), settledAt: new Date() };
    for (const step of [
      () => one.ledger.verified(lease),
      () => one.ledger.served(lease, answer()),
      () => one.ledger.settled(lease, result),
    ])
      await Promise.all([step(), step(), step()]);

    const events = await one.eventsOf(project.id);
    expect(events.map(({ type }) => type)).toEqual(['payment.verified', 'payment.settled', 'customer.first_payment']);
    expect(await one.db.prisma.customer.findFirst({ where: { projectId: project.id } })).toMatchObject({
      paymentCount: 1,
    });
    expect(await one.db.prisma.revenueDay.findMany({ where: { projectId: project.id } })).toMatchObject([
      { paymentCount: 1, failedCount: 0 },
    ]);
  });

  test('can be settled if an earlier version left it SERVED', async () => {
    const lease = await sent(one.ledger, newPayment((await one.project()).id));
    await one.db.prisma.payment.update({ where: { id: lease.paymentId }, data: { status: 'SERVED' } });
    const result = { transactionHash: hex(32), settledAt: new Date() };
    await expect(one.ledger.settled(lease, result)).rejects.toThrow(LeaseLost);
    await one.ledger.settling(lease, 'SERVED');
    expect(await one.ledger.settled(lease, result)).toMatchObject({ status: 'SETTLED' });
  });

  test("rejects every step that the payment isn't ready for", async () => {
    const lease = leaseOf(await claimed(one.ledger, newPayment((await one.project()).id)));
    const result = { transactionHash: hex(32), settledAt: new Date() };
    const steps = {
      served: () => one.ledger.served(lease, answer()),
      settling: () => one.ledger.settling(lease, 'SERVED'),
      settled: () => one.ledger.settled(lease, result),
      reconciled: () => one.ledger.settled(reconciledOf(lease), result),
      failed: () => one.ledger.failed(reconciledOf(lease), SETTLE_FAILURE),
      failedLater: () => one.ledger.failed(lease, UPSTREAM_FAILURE),
      unknown: () => one.ledger.unknown(lease, { reason: 'timeout' }),
    };
    for (const step of Object.values(steps)) await expect(step()).rejects.toThrow(LeaseLost);
    await one.ledger.failed(lease, VERIFY_FAILURE);
    for (const step of Object.values(steps)) await expect(step()).rejects.toThrow(LeaseLost);
    await expect(one.ledger.verified(lease)).rejects.toThrow(LeaseLost);
  });

  test('accepts any failure reason from third parties', async () => {
    const lease = leaseOf(await claimed(one.ledger, newPayment((await one.project()).id)));
    const reason = `\0bad\ud800${'x'.repeat(5000)}`;
    const payment = await one.ledger.failed(lease, { stage: 'VERIFY', reason, message: `\0${reason}` });
    expect(payment.failureReason).toBe(`bad\ufffd${'x'.repeat(96)}`);
    expect(payment.failureMessage).toHaveLength(1000);
  });

  test('rejects every step of a deleted payment', async () => {
    const lease = leaseOf(await claimed(one.ledger, newPayment((await one.project()).id)));
    await one.db.prisma.payment.delete({ where: { id: lease.paymentId } });
    const result = { transactionHash: hex(32), settledAt: new Date() };
    await expect(one.ledger.verified(lease)).rejects.toThrow(LeaseLost);
    await expect(one.ledger.settled(lease, result)).rejects.toThrow(LeaseLost);
    await expect(one.ledger.failed(lease, SETTLE_FAILURE)).rejects.toThrow(LeaseLost);
    await expect(one.ledger.extend(lease, 10)).rejects.toThrow(LeaseLost);
    expect(await one.ledger.take(lease.paymentId, 10)).toBeNull();
  });
});

describe('a payment lease', () => {
  test('prevents a process from writing to a payment that another one has taken over', async () => {
    const payment = await claimed(one.ledger, newPayment((await one.project()).id));
    const old = leaseOf(payment);
    await one.ledger.verified(old);
    await endLease(payment.id);
    const taken = await two.ledger.take(payment.id, 60);
    expect(taken).toMatchObject({ id: payment.id, status: 'VERIFIED', leaseToken: 2 });
    expect(await one.ledger.take(payment.id, 60)).toBeNull();

    await expect(one.ledger.served(old, answer())).rejects.toThrow(LeaseLost);
    await expect(one.ledger.failed(old, UPSTREAM_FAILURE)).rejects.toThrow(LeaseLost);
    await expect(one.ledger.extend(old, 60)).rejects.toThrow(LeaseLost);
    expect(await one.ledger.keptResponse(payment.id)).toBeNull();
    await two.ledger.served(leaseOf(taken!), answer());
  });

  test('gives each abandoned payment to only one process', async () => {
    const project = await one.project();
    const payments = await Promise.all(Array.from({ length: 12 }, () => claimed(one.ledger, newPayment(project.id))));
    for (const { id } of payments) await endLease(id);
    const taken = (
      await Promise.all([5, 5, 5, 50].map((limit, index) => (index % 2 ? one : two).ledger.takeAbandoned(limit)))
    )
      .flat()
      .filter(({ projectId }) => projectId === project.id);
    expect(new Set(taken.map(({ id }) => id))).toEqual(new Set(payments.map(({ id }) => id)));
    expect(taken).toHaveLength(12);
    expect(taken.every(({ leaseToken }) => leaseToken === 2)).toBe(true);
    expect(await one.ledger.takeAbandoned(5)).toEqual([]);
  });

  test("doesn't treat payments with an extended lease or final payments as abandoned", async () => {
    const project = await one.project();
    const kept = leaseOf(await claimed(one.ledger, newPayment(project.id, { leaseSeconds: 0 })));
    await one.ledger.extend(kept, 60);
    const final = leaseOf(await claimed(one.ledger, newPayment(project.id, { leaseSeconds: 0 })));
    await one.ledger.failed(final, VERIFY_FAILURE);
    expect(await one.ledger.takeAbandoned(10)).toEqual([]);
    await expect(one.ledger.extend(final, 60)).rejects.toThrow(LeaseLost);
  });
});

describe('an unknown settlement', () => {
  test('keeps the data to look it up, waits for its next check, and is then taken over', async () => {
    const lease = await sent(one.ledger, newPayment((await one.project()).id));
    const transactionHash = hex(32);
    const payment = await one.ledger.unknown(lease, { reason: 'timeout', transactionHash, nextCheckSeconds: 60 });
    expect(payment).toMatchObject({
      status: 'UNKNOWN',
      failureReason: 'timeout',
      failureStage: null,
      transactionHash,
      authorization: { payload: 'signed' },
    });
    expect(await one.ledger.takeAbandoned(10)).toEqual([]);
    await endLease(payment.id);
    const [taken] = await two.ledger.takeAbandoned(10);
    expect(taken).toMatchObject({ id: payment.id, leaseToken: 2 });
    const again = await two.ledger.unknown(leaseOf(taken!), { reason: 'still_unknown' });
    expect(again).toMatchObject({ status: 'UNKNOWN', failureReason: 'still_unknown', transactionHash });
  });

  test('is settled once if several processes find it on the chain at the same time', async () => {
    const project = await one.project();
    const lease = await sent(one.ledger, newPayment(project.id));
    await one.ledger.unknown(lease, { reason: 'timeout' });
    const result = { transactionHash: hex(32), settledAt: new Date() };
    const reconciled = reconciledOf(lease);
    const found = await Promise.all(
      [one, two, one, two].map(({ ledger }, index) => ledger.settled(index ? reconciled : lease, result)),
    );
    expect(found.every(({ status, failureReason }) => status === 'SETTLED' && failureReason === null)).toBe(true);
    expect(await one.eventsOf(project.id, 'payment.settled')).toHaveLength(1);
    await expect(one.ledger.settled(reconciled, { ...result, transactionHash: hex(32) })).rejects.toThrow(LeaseLost);
  });

  test('fails once if the authorization expired unused, and deletes the unpaid response', async () => {
    const project = await one.project();
    const lease = await sent(one.ledger, newPayment(project.id));
    await one.ledger.unknown(lease, { reason: 'timeout' });
    const reconciled = reconciledOf(lease);
    const failed = await Promise.all([one, two].map(({ ledger }) => ledger.failed(reconciled, SETTLE_FAILURE)));
    expect(failed[0]).toMatchObject({ status: 'FAILED', failureStage: 'SETTLE', failureReason: 'insufficient_funds' });
    expect(await one.ledger.keptResponse(lease.paymentId)).toBeNull();
    const [event, ...more] = await one.eventsOf(project.id, 'payment.failed');
    expect(EVENT_PAYLOADS['payment.failed'].parse(event!.data)).toMatchObject({
      stage: 'settle',
      reason: 'insufficient_funds',
      message: 'Too poor.',
      transactionHash: null,
    });
    expect(more).toEqual([]);
    expect(await one.db.prisma.revenueDay.findMany({ where: { projectId: project.id } })).toMatchObject([
      { paymentCount: 0, failedCount: 1 },
    ]);
  });
});

describe('customers and milestones', () => {
  test('a customer has only one first payment, even if many settle at the same time', async () => {
    const project = await one.project();
    const payer = hex(20);
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        settled((index % 2 ? one : two).ledger, newPayment(project.id, { payer, amountAtomic: 70_000n })),
      ),
    );
    const [customer, ...others] = await one.db.prisma.customer.findMany({ where: { projectId: project.id } });
    expect(others).toEqual([]);
    expect(customer).toMatchObject({ paymentCount: 20 });
    expect(customer!.totalAtomic.toFixed(0)).toBe('1400000');
    const [first, ...more] = await one.eventsOf(project.id, 'customer.first_payment');
    expect(more).toEqual([]);
    EVENT_PAYLOADS['customer.first_payment'].parse(first!.data);
    const milestones = await one.eventsOf(project.id, 'customer.milestone');
    expect(milestones.map(({ data }) => data)).toMatchObject([
      { milestoneUsd: '1', totalUsd: '1.05', paymentCount: 15 },
    ]);
  });

  test('a payment that reaches several milestones records each, lowest first', async () => {
    const project = await one.project({ milestonesAtomic: [50_000, 10_000, 20_000, 40_000_000] });
    const payer = hex(20);
    await settled(one.ledger, newPayment(project.id, { payer, amountAtomic: 10_000n }));
    await settled(one.ledger, newPayment(project.id, { payer, amountAtomic: 45_000n }));
    await settled(one.ledger, newPayment(project.id, { payer, amountAtomic: 45_000n }));
    const milestones = await one.eventsOf(project.id, 'customer.milestone');
    expect(milestones.map(({ data }) => (data as { milestoneUsd: string }).milestoneUsd)).toEqual([
      '0.01',
      '0.02',
      '0.05',
    ]);
  });

  test('a project without milestones records none', async () => {
    const project = await one.project({ milestonesAtomic: [] });
    await settled(one.ledger, newPayment(project.id, { amountAtomic: 5_000_000n }));
    expect(await one.eventsOf(project.id, 'customer.milestone')).toEqual([]);
  });

  test('a wallet is a separate customer in each project', async () => {
    const payer = hex(20);
    const projects = [await one.project(), await one.project()];
    for (const { id } of projects) await settled(one.ledger, newPayment(id, { payer }));
    for (const { id } of projects) expect(await one.eventsOf(id, 'customer.first_payment')).toHaveLength(1);
    const customers = await one.db.prisma.customer.findMany({
      where: { projectId: { in: projects.map(({ id }) => id) } },
    });
    expect(new Set(customers.map(({ walletAddress }) => walletAddress)).size).toBe(1);
    expect(customers).toHaveLength(2);
  });
});

describe('deleting a project', () => {
  test('deletes its payments at any step, without a deadlock', async () => {
    for (let round = 0; round < 12; round++) {
      const { id } = await one.project();
      const payer = hex(20);
      const claims = await Promise.all(Array.from({ length: 3 }, () => claimed(one.ledger, newPayment(id, { payer }))));
      const failing = await claimed(one.ledger, newPayment(id));
      const leases = await Promise.all(Array.from({ length: 4 }, () => sent(one.ledger, newPayment(id, { payer }))));
      const result = () => ({ transactionHash: hex(32), settledAt: new Date() });
      const steps = [
        ...leases.map((lease, index) => (index % 2 ? one : two).ledger.settled(lease, result())),
        ...claims.map((payment) => two.ledger.verified(leaseOf(payment))),
        one.ledger.failed(leaseOf(failing), VERIFY_FAILURE),
      ];
      // The deletion starts together with the steps, or after one of them.
      const begun = round % 2 ? steps[round % steps.length] : undefined;
      const deletion = Promise.resolve(begun)
        .catch(() => {})
        .then(() => two.db.prisma.project.delete({ where: { id } }));
      for (const step of await Promise.allSettled(steps)) {
        if (step.status === 'rejected') expect(step.reason).toBeInstanceOf(LeaseLost);
      }
      await deletion;
      for (const table of ['payment', 'customer', 'revenueDay', 'dailySummary', 'event'] as const)
        expect(await (one.db.prisma[table] as typeof one.db.prisma.event).count({ where: { projectId: id } })).toBe(0);
    }
  });
});

describe('revenue days', () => {
  test('count a settlement on the day it becomes known, if that is a later day', async () => {
    const project = await one.project();
    const lease = await sent(one.ledger, newPayment(project.id));
    const before = new Date();
    const payment = await one.ledger.settled(lease, {
      transactionHash: hex(32),
      settledAt: new Date(Date.now() - 3 * 86_400_000),
    });
    expect(payment.settledAt!.getTime()).toBeGreaterThanOrEqual(before.getTime() - 1000);
  });

  test("count a failure on the day of the payment's `updatedAt`, as the revenue by hour does", async () => {
    const project = await one.project();
    const failing = leaseOf(await claimed(one.ledger, newPayment(project.id)));
    await one.ledger.verified(failing);
    // A step never sets `updatedAt` back, so this pins it to a day that isn't the database's.
    const lastTouched = new Date('2041-05-01T12:00:00Z');
    await one.db.prisma.payment.update({ where: { id: failing.paymentId }, data: { updatedAt: lastTouched } });
    const { updatedAt } = await one.ledger.failed(failing, UPSTREAM_FAILURE);
    expect(updatedAt.getTime()).toBeGreaterThan(lastTouched.getTime());
    const days = await one.db.prisma.revenueDay.findMany({ where: { projectId: project.id } });
    expect(days).toMatchObject([{ day: new Date('2041-05-01'), failedCount: 1 }]);
  });

  test('are UTC days in any server time zone', async () => {
    const now = new Date('2031-05-01T23:30:00Z');
    const name = new URL(one.url).pathname.slice(1);
    await one.db.pool.query(`ALTER DATABASE ${name} SET TimeZone TO 'Pacific/Kiritimati'`);
    const late = await openTestLedger({ url: one.url, now: () => now });
    const project = await one.project();
    const payment = await settled(late.ledger, newPayment(project.id), new Date('2031-05-01T00:10:00Z'));
    expect(payment.settledAt).toEqual(new Date('2031-05-01T00:10:00Z'));
    expect(payment.validAfter).toEqual(new Date(0));
    const failing = leaseOf(await claimed(late.ledger, newPayment(project.id)));
    await late.ledger.verified(failing);
    await late.ledger.failed(failing, UPSTREAM_FAILURE);
    const days = await one.db.prisma.revenueDay.findMany({ where: { projectId: project.id } });
    expect(days.map(({ day }) => day.toISOString())).toEqual(['2031-05-01T00:00:00.000Z', '2031-05-01T00:00:00.000Z']);
    await late.close();
  });
});
