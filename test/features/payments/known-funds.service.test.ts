import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { leaseOf } from '../../../src/features/payments/lease.ts';
import type { VerifyResult } from '../../../src/features/payments/steps/verify.ts';
import type { Payment } from '../../../src/generated/prisma/client.ts';
import { claimed, hex, newPayment, openTestLedger, settled, type TestLedger } from './support.ts';

const AMOUNT = 10_000n;

let one: TestLedger;
/** Acts as a second process on the same database. */
let two: TestLedger;
let projectId: string;
let payer: string;

beforeAll(async () => {
  one = await openTestLedger();
  two = await openTestLedger({ url: one.url });
  projectId = (await one.project()).id;
});
afterAll(async () => {
  await two?.close();
  await one?.close();
});

const claim = () => claimed(one.ledger, newPayment(projectId, { payer }));
/** The balance that was read after a payment was claimed. */
const fundsFor = (count: bigint, { updatedAt }: Payment) => ({ balanceAtomic: count * AMOUNT, since: updatedAt });
const isVerified = ({ kind }: VerifyResult) => kind === 'verified';

describe('a payment while its payer has others in flight', () => {
  test('is verified immediately if the known funds cover all of them, and held otherwise', async () => {
    payer = hex(20);
    const first = await claim();
    expect(isVerified(await one.ledger.reserveFunds(leaseOf(first)))).toBe(true);
    const [second, third, fourth] = [await claim(), await claim(), await claim()];
    const funds = fundsFor(3n, first);
    expect(isVerified(await one.ledger.reserveFunds(leaseOf(second!), funds))).toBe(true);
    expect(isVerified(await two.ledger.reserveFunds(leaseOf(third!), funds))).toBe(true);
    const reserved = await one.ledger.reserveFunds(leaseOf(fourth!), funds);
    expect(isVerified(reserved)).toBe(false);
    expect(reserved).toMatchObject({ kind: 'reserved', totalAtomic: 3n * AMOUNT });
    expect(reserved).toHaveProperty('others.length', 3);
  });

  test('counts payments settled since the funds were read, but reports only payments settled since its claim', async () => {
    payer = hex(20);
    const looked = await claim();
    await settled(one.ledger, newPayment(projectId, { payer }));
    const open = await claim();
    await one.ledger.reserveFunds(leaseOf(open));
    const next = await claim();
    const reserved = await one.ledger.reserveFunds(leaseOf(next), fundsFor(2n, looked));
    expect(reserved).toEqual({
      kind: 'reserved',
      totalAtomic: AMOUNT,
      others: [{ nonce: open.nonce, amountAtomic: AMOUNT }],
    });
    const last = await claim();
    expect(isVerified(await one.ledger.reserveFunds(leaseOf(last), fundsFor(4n, looked)))).toBe(true);
  });

  test('never uses the same money twice, no matter how many arrive at the same time through two processes', async () => {
    payer = hex(20);
    const payments = await Promise.all(Array.from({ length: 40 }, claim));
    const funds = fundsFor(7n, payments[0]!);
    const results = await Promise.all(
      payments.map((payment, index) => (index % 2 ? one : two).ledger.reserveFunds(leaseOf(payment), funds)),
    );
    const count = results.filter(isVerified).length;
    expect(count).toBeGreaterThanOrEqual(1);
    expect(count).toBeLessThanOrEqual(7);
  });
});

test('a payment is verified if its payer has no others in flight, even if the known funds have been spent', async () => {
  payer = hex(20);
  const looked = await claim();
  const { id } = await settled(one.ledger, newPayment(projectId, { payer }));
  // A payment settled in the same millisecond as the claim counts as in flight.
  await one.db.pool.query(`UPDATE "Payment" SET "updatedAt" = "updatedAt" - interval '1 s' WHERE "id" = $1`, [id]);
  const funds = { ...fundsFor(1n, looked), since: new Date(looked.updatedAt.getTime() - 10_000) };
  expect(isVerified(await one.ledger.reserveFunds(leaseOf(await claim()), funds))).toBe(true);
});
