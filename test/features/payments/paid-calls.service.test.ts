import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { leaseOf } from '../../../src/features/payments/lease.ts';
import type { PaidCall } from '../../../src/features/payments/paid-calls.ts';
import { unservedReasonOf } from '../../../src/features/payments/paid-calls.ts';
import { claimed, hex, newPayment, openTestLedger, settled, type TestLedger } from './support.ts';

let one: TestLedger;
let other: TestLedger;
let projectId: string;

beforeAll(async () => {
  one = await openTestLedger();
  other = await openTestLedger({ url: one.url });
  ({ id: projectId } = await one.project());
});

afterAll(async () => {
  await other?.close();
  await one?.close();
});

/** A payment that was settled before the request. */
async function charged(): Promise<string> {
  const lease = leaseOf(await claimed(one.ledger, newPayment(projectId, { settlement: 'BEFORE_REQUEST' })));
  await one.ledger.verified(lease);
  await one.ledger.settling(lease, 'VERIFIED');
  const { id } = await one.ledger.settled(lease, { transactionHash: hex(32), settledAt: new Date() });
  return id;
}

async function begun(paymentId: string): Promise<PaidCall> {
  const start = await one.ledger.beginCall(paymentId, 60);
  if (start.kind !== 'begun') throw new Error(start.kind);
  return start.call;
}

const read = (id: string) => one.db.prisma.payment.findUniqueOrThrow({ where: { id } });
const endLease = (id: string) =>
  one.db.prisma.$executeRaw`UPDATE "Payment" SET "callLeasedUntil" = now() - interval '1 second' WHERE "id" = ${id}`;
const failure = { unservedReason: 'upstream_timeout', durationMs: 5 };

describe('a call after the settlement', () => {
  test('starts only once, even if forty requests in two processes start it at the same time', async () => {
    const id = await charged();
    const starts = await Promise.all(
      Array.from({ length: 40 }, (_, index) => (index % 2 ? one : other).ledger.beginCall(id, 60)),
    );
    const kinds = starts.map(({ kind }) => kind).sort();
    expect(kinds).toEqual(['begun', ...Array.from({ length: 39 }, () => 'calling')]);
    expect((await read(id)).upstreamCallCount).toBe(1);
  });

  test('can fail once, and the second one is the last', async () => {
    const id = await charged();
    await one.ledger.endCall(await begun(id), { ...failure, statusCode: 200 });
    expect(await read(id)).toMatchObject({ status: 'SETTLED', servedAt: null, unservedReason: 'upstream_timeout' });
    await one.ledger.endCall(await begun(id), failure);
    expect(await other.ledger.beginCall(id, 60)).toEqual({ kind: 'failed' });
  });

  test('has a message for the seller if it fails, until the next call starts', async () => {
    const id = await charged();
    const message = `The upstream\0 responded with ${'a'.repeat(2_000)}`;
    await one.ledger.endCall(await begun(id), { ...failure, message });
    const { failureMessage } = await read(id);
    expect(failureMessage).toBe(message.replace('\0', '').slice(0, 1_000));
    const second = await begun(id);
    expect(await read(id)).toMatchObject({ failureMessage: null, unservedReason: null });
    await one.ledger.endCall(second, { unservedReason: null, durationMs: 1 });
    expect((await read(id)).failureMessage).toBeNull();
  });

  test('is the last if it served the buyer', async () => {
    const id = await charged();
    await one.ledger.endCall(await begun(id), { unservedReason: null, statusCode: 200, durationMs: 7.4 });
    expect(await one.ledger.beginCall(id, 60)).toEqual({ kind: 'served' });
    expect(await read(id)).toMatchObject({ upstreamStatusCode: 200, upstreamDurationMs: 7, callLeasedUntil: null });
  });

  test('can be followed by another one if its process died, and its late end changes nothing', async () => {
    const id = await charged();
    const first = await begun(id);
    expect(unservedReasonOf(await read(id))).toBeNull();
    await endLease(id);
    expect(unservedReasonOf(await read(id))).toBe('interrupted');
    const second = await begun(id);
    expect(await one.ledger.extendCall(first, 60)).toBe(false);
    expect(await one.ledger.extendCall(second, 60)).toBe(true);
    await one.ledger.endCall(first, failure);
    expect(await one.ledger.beginCall(id, 60)).toEqual({ kind: 'calling' });
    await one.ledger.endCall(second, { unservedReason: null, durationMs: 1 });
    expect((await read(id)).unservedReason).toBeNull();
  });

  test('is impossible for a payment that is settled after the response', async () => {
    const { id } = await settled(one.ledger, newPayment(projectId));
    expect(await one.ledger.beginCall(id, 60)).toEqual({ kind: 'unsettled' });
    expect((await read(id)).upstreamCallCount).toBe(0);
  });

  test('is impossible before the settlement is recorded, and after the payment was deleted with its project', async () => {
    const { id } = await claimed(one.ledger, newPayment(projectId, { settlement: 'BEFORE_REQUEST' }));
    expect(await one.ledger.beginCall(id, 60)).toEqual({ kind: 'unsettled' });
    await one.db.prisma.payment.delete({ where: { id } });
    await expect(one.ledger.beginCall(id, 60)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

test('a payment counts as interrupted if its call never started, but not right after its settlement', async () => {
  const payment = await read(await charged());
  const after = (milliseconds: number) =>
    unservedReasonOf(payment, new Date(payment.updatedAt.getTime() + milliseconds));
  expect([after(0), after(4_999), after(5_000)]).toEqual([null, null, 'interrupted']);
});

describe('a payment identifier', () => {
  const paymentIdentifier = 'order_0000000000000001';
  const payment = (payer: string) => newPayment(projectId, { payer, paymentIdentifier });

  test('is claimed by one of forty payments in two processes at the same time', async () => {
    const payer = hex(20);
    const claims = await Promise.all(
      Array.from({ length: 40 }, (_, index) => (index % 2 ? one : other).ledger.claim(payment(payer))),
    );
    expect(claims.filter(({ kind }) => kind === 'claimed')).toHaveLength(1);
    expect(new Set(claims.map((claim) => claim.payment.id)).size).toBe(1);
  });

  test.each(['VERIFY', 'UPSTREAM'] as const)('is released by a payment that fails at %s', async (stage) => {
    const payer = hex(20);
    const lease = leaseOf(await claimed(one.ledger, payment(payer)));
    if (stage === 'UPSTREAM') await one.ledger.verified(lease);
    await one.ledger.failed(lease, { stage, reason: 'upstream_error', message: 'It failed.' });
    const key = { projectId, payer, paymentIdentifier };
    expect(await one.ledger.findIdentified(key)).toBeUndefined();
    const next = await claimed(one.ledger, payment(payer));
    expect((await one.ledger.findIdentified({ ...key, payer: payer.toUpperCase().replace('X', 'x') }))?.id).toBe(
      next.id,
    );
  });
});
