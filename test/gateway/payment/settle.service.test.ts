import { afterAll, beforeAll, expect, test } from 'vitest';
import { LeaseLost, leaseOf } from '../../../src/features/payments/lease.ts';
import type { ChainOutcome } from '../../../src/gateway/chain/chain.ts';
import type { FacilitatorSettlement } from '../../../src/gateway/chain/facilitator.ts';
import { createSettler } from '../../../src/gateway/payment/settle.ts';
import type { Payment } from '../../../src/generated/prisma/client.ts';
import {
  answer,
  claimed,
  hex,
  log,
  newPayment,
  openTestLedger,
  type TestLedger,
} from '../../features/payments/support.ts';

const REFUSED: FacilitatorSettlement = { kind: 'refused', reason: 'insufficient_funds', message: 'Too poor.' };

/** Two ledgers that act as two processes on one database. */
let one: TestLedger;
let two: TestLedger;
let seen: ChainOutcome;

beforeAll(async () => {
  one = await openTestLedger();
  two = await openTestLedger({ url: one.url });
});

afterAll(async () => {
  await two?.close();
  await one?.close();
});

function settlerOf({ ledger }: TestLedger, settle: () => Promise<FacilitatorSettlement>) {
  const unused = () => Promise.reject(new Error('Nobody asks for that here.'));
  const facilitator = { settle, verify: unused, supported: unused };
  return createSettler({ ledger, facilitator, chain: { outcomeOf: async () => seen, fundsOf: unused }, log });
}

async function served(): Promise<Payment> {
  const payment = await claimed(one.ledger, newPayment((await one.project()).id));
  await one.ledger.verified(leaseOf(payment));
  await one.ledger.served(leaseOf(payment), answer());
  return payment;
}

/** Ends the first process's lease, and takes the payment for the second one. */
async function takenOver({ id }: Payment): Promise<Payment> {
  await one.db.prisma.$executeRaw`UPDATE "Payment" SET "leasedUntil" = now() WHERE "id" = ${id}`;
  return (await two.ledger.take(id, 15))!;
}

test("a rejection after another process took over doesn't fail the payment, because that process may have sent the settlement again", async () => {
  seen = { kind: 'unused', isExpired: false };
  const payment = await served();

  const asked = Promise.withResolvers<void>();
  const said = Promise.withResolvers<FacilitatorSettlement>();
  const slow = settlerOf(one, () => {
    asked.resolve();
    return said.promise;
  }).settle({ ...payment, status: 'SETTLING' });
  await asked.promise;

  const taken = await takenOver(payment);
  const other = settlerOf(two, async () => ({
    kind: 'ambiguous',
    reason: 'settlement_pending',
    message: 'Soon.',
    isDenied: false,
  }));
  expect(await other.resolve(taken, leaseOf(taken))).toMatchObject({ kind: 'unresolved' });
  expect(await other.resolve(payment)).toMatchObject({ kind: 'unresolved' });

  said.resolve(REFUSED);
  await expect(slow).rejects.toThrow(LeaseLost);
  const transactionHash = hex(32) as `0x${string}`;
  seen = { kind: 'settled', transactionHash, settledAt: new Date() };
  expect(await other.resolve(taken, leaseOf(taken))).toEqual({ kind: 'settled', transactionHash });
  const { status } = await one.db.prisma.payment.findUniqueOrThrow({ where: { id: payment.id } });
  expect(status).toBe('SETTLED');
});

test('a settlement that a process took over is retried while the facilitator is down, not left for later', async () => {
  seen = { kind: 'unused', isExpired: false };
  const taken = await takenOver(await served());

  const transactionHash = hex(32) as `0x${string}`;
  const replies: FacilitatorSettlement[] = [
    { kind: 'notSent', reason: 'facilitator_unreachable', message: 'Down.' },
    { kind: 'unavailable', reason: 'facilitator_unavailable', message: 'Busy.', retryAfterSeconds: undefined },
    { kind: 'settled', transactionHash },
  ];
  const settler = settlerOf(two, async () => replies.shift()!);
  expect(await settler.resolve(taken, leaseOf(taken))).toEqual({ kind: 'settled', transactionHash });
  expect(replies).toEqual([]);
});

test('if a settlement is rejected that another process may have sent, the chain decides the outcome', async () => {
  seen = { kind: 'unused', isExpired: false };
  const taken = await takenOver(await served());
  const replies: FacilitatorSettlement[] = [
    { kind: 'notSent', reason: 'facilitator_unreachable', message: 'Down.' },
    REFUSED,
  ];
  const settler = settlerOf(two, async () => replies.shift()!);
  expect(await settler.resolve(taken, leaseOf(taken))).toEqual({ kind: 'unresolved', isDenied: true });
});
