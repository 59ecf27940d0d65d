import pino from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
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
import { NETWORK } from '../support.ts';

const REFUSED: FacilitatorSettlement = { kind: 'refused', reason: 'insufficient_funds', message: 'Too poor.' };

/** Two ledgers that act as two processes on one database. */
let one: TestLedger;
let two: TestLedger;
let seen: ChainOutcome;
let lookups = 0;
/** Called before each lookup. */
let onLook = () => {};

beforeAll(async () => {
  one = await openTestLedger();
  two = await openTestLedger({ url: one.url });
});

afterAll(async () => {
  await two?.close();
  await one?.close();
});

function settlerOf({ ledger }: TestLedger, settle: () => Promise<FacilitatorSettlement>, now = () => new Date()) {
  const unused = () => Promise.reject(new Error('No test calls this.'));
  const facilitator = { settle, verify: unused, supported: unused, probe: unused };
  const outcomeOf = async () => {
    lookups += 1;
    onLook();
    return seen;
  };
  const chain = { outcomeOf, fundsOf: unused };
  return createSettler({ ledger, settlements: new Map([[NETWORK.id, { facilitator, chain }]]), log, now });
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

describe('a transaction that the facilitator has sent', () => {
  const hash = hex(32) as `0x${string}`;
  const PENDING: FacilitatorSettlement = {
    kind: 'ambiguous',
    reason: 'settlement_pending',
    message: 'Soon.',
    isDenied: false,
    transactionHash: hash,
  };
  let time = Date.now();
  let sends = 0;

  async function settle(reply: FacilitatorSettlement) {
    seen = { kind: 'unused', isExpired: false };
    [lookups, sends, time] = [0, 0, Date.now()];
    const settler = settlerOf(
      one,
      async () => {
        sends += 1;
        return reply;
      },
      () => new Date(time),
    );
    return settler.settle({ ...(await served()), status: 'SETTLING' });
  }

  afterEach(() => {
    onLook = () => {};
  });

  test('is waited for, because a buyer is waiting', async () => {
    onLook = () => {
      if (lookups === 3) seen = { kind: 'settled', transactionHash: hash, settledAt: new Date() };
    };
    expect(await settle(PENDING)).toEqual({ kind: 'settled', transactionHash: hash });
    expect([lookups, sends]).toEqual([3, 1]);
  });

  test("is left to later lookups after 15 seconds, and isn't sent again", async () => {
    onLook = () => {
      time += 5_000;
    };
    expect(await settle(PENDING)).toEqual({ kind: 'unresolved', isDenied: false, transactionHash: hash });
    expect([lookups, sends]).toEqual([3, 1]);
  });

  test("isn't waited for if the facilitator says that it failed", async () => {
    expect(await settle({ ...PENDING, reason: 'reverted', isDenied: true })).toMatchObject({ kind: 'unresolved' });
    expect([lookups, sends]).toEqual([1, 1]);
  });
});

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

test('if a rejected settlement may also have been sent by another process, the chain decides the outcome', async () => {
  seen = { kind: 'unused', isExpired: false };
  const taken = await takenOver(await served());
  const replies: FacilitatorSettlement[] = [
    { kind: 'notSent', reason: 'facilitator_unreachable', message: 'Down.' },
    REFUSED,
  ];
  const settler = settlerOf(two, async () => replies.shift()!);
  expect(await settler.resolve(taken, leaseOf(taken))).toEqual({ kind: 'unresolved', isDenied: true });
});

test('a settlement that keeps failing is sent about ten times in twelve minutes, although buyers and the gateway check it every five seconds', async () => {
  seen = { kind: 'unused', isExpired: false };
  let time = Date.now();
  const taken = { ...(await takenOver(await served())), validBefore: new Date(time + 720_000) };
  let sends = 0;
  const reverted: FacilitatorSettlement = {
    kind: 'ambiguous',
    reason: 'reverted',
    message: 'Reverted.',
    isDenied: true,
  };
  const settler = settlerOf(
    two,
    async () => {
      sends += 1;
      return reverted;
    },
    () => new Date(time),
  );
  for (let check = 0; check < 144; check++) {
    expect(await settler.resolve(taken, leaseOf(taken))).toMatchObject({ kind: 'unresolved' });
    expect(await settler.resolve(taken)).toMatchObject({ kind: 'unresolved' });
    time += 5_000;
  }
  expect(sends).toBe(10);

  const transactionHash = hex(32) as `0x${string}`;
  seen = { kind: 'settled', transactionHash, settledAt: new Date() };
  expect(await settler.resolve(taken)).toEqual({ kind: 'settled', transactionHash });
});

test('a payment on a network that is no longer served stays open and is logged, and is resolved once the network is served again', async () => {
  seen = { kind: 'settled', transactionHash: `0x${'ab'.repeat(32)}`, settledAt: new Date() };
  const payment = await served();
  const lines: { msg: string; network: string }[] = [];
  const noting = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const without = createSettler({ ledger: one.ledger, settlements: new Map(), log: noting, now: () => new Date() });

  const open = { ...payment, status: 'SETTLING' } as const;
  expect(await without.resolve(open, leaseOf(payment))).toEqual({ kind: 'unresolved', isDenied: false });

  const where = { where: { id: payment.id } };
  expect(await one.db.prisma.payment.findUniqueOrThrow(where)).toMatchObject({
    status: 'UNKNOWN',
    failureReason: 'network_not_served',
  });
  expect(lines).toMatchObject([{ network: payment.network, msg: expect.stringContaining('no longer serves') }]);

  const taken = await takenOver(payment);
  const again = settlerOf(two, () => Promise.reject(new Error('It is settled already.')));
  expect(await again.resolve(taken, leaseOf(taken))).toMatchObject({ kind: 'settled' });
  expect(await one.db.prisma.payment.findUniqueOrThrow(where)).toMatchObject({ status: 'SETTLED' });
});

test('buyers who retry at any rate share one lookup every two seconds, and get the outcome as soon as it is looked up again', async () => {
  seen = { kind: 'unused', isExpired: false };
  let time = Date.now();
  const payment = { ...(await takenOver(await served())), validBefore: new Date(time + 5_000) };
  const settler = settlerOf(
    two,
    () => Promise.reject(new Error('It is too late to send it.')),
    () => new Date(time),
  );
  const retry = () => settler.resolve(payment);
  lookups = 0;
  expect(await Promise.all(Array.from({ length: 50 }, retry))).toEqual(
    Array(50).fill({ kind: 'unresolved', isDenied: false }),
  );
  for (let retries = 0; retries < 50; retries++) await retry();
  expect(lookups).toBe(1);

  const transactionHash = hex(32) as `0x${string}`;
  seen = { kind: 'settled', transactionHash, settledAt: new Date() };
  expect(await retry()).toMatchObject({ kind: 'unresolved' });
  time += 2_000;
  expect(await retry()).toEqual({ kind: 'settled', transactionHash });
  expect(lookups).toBe(2);
});

test("a buyer's retry doesn't keep the process that owns the payment from looking it up", async () => {
  seen = { kind: 'unused', isExpired: false };
  const taken = { ...(await takenOver(await served())), validBefore: new Date(Date.now() + 5_000) };
  const settler = settlerOf(two, () => Promise.reject(new Error('It is too late to send it.')));
  await settler.resolve(taken);
  const transactionHash = hex(32) as `0x${string}`;
  seen = { kind: 'settled', transactionHash, settledAt: new Date() };
  expect(await settler.resolve(taken, leaseOf(taken))).toEqual({ kind: 'settled', transactionHash });
});
