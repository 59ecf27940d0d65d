import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { leaseOf } from '../../../src/features/payments/lease.ts';
import { createRecovery } from '../../../src/gateway/payment/recovery.ts';
import type { Settler } from '../../../src/gateway/payment/settle.ts';
import type { Payment } from '../../../src/generated/prisma/client.ts';
import { answer, claimed, log, newPayment, openTestLedger, type TestLedger } from '../../features/payments/support.ts';

/** Longer than any test, so that only the first round runs. */
const POLL_MILLISECONDS = 3_600_000;

let ledgers: TestLedger;
let projectId: string;

beforeAll(async () => {
  ledgers = await openTestLedger();
  projectId = (await ledgers.project()).id;
});

beforeEach(async () => {
  await ledgers.db.prisma.payment.deleteMany();
});

afterAll(() => ledgers?.close());

/** Payments that were being settled by a process that has died. */
async function abandoned(count: number, project = projectId): Promise<Payment[]> {
  const payments: Payment[] = [];
  for (let made = 0; made < count; made++) {
    const payment = await claimed(ledgers.ledger, newPayment(project));
    await ledgers.ledger.verified(leaseOf(payment));
    await ledgers.ledger.served(leaseOf(payment), answer());
    payments.push(payment);
  }
  const ids = payments.map(({ id }) => id);
  await ledgers.db.prisma.$executeRaw`UPDATE "Payment" SET "leasedUntil" = now() WHERE "id" = ANY (${ids})`;
  return payments;
}

/** Starts a recovery. Its settlements end when `resolve` does. */
function startRecovery(resolve: (paymentId: string) => Promise<void>, pollMilliseconds = POLL_MILLISECONDS): void {
  const settler: Settler = {
    settle: () => Promise.reject(new Error('No payment in this test is waiting for its first settlement.')),
    async resolve(payment) {
      await resolve(payment.id);
      return { kind: 'unresolved', isDenied: false };
    },
  };
  const recovery = createRecovery({ ledger: ledgers.ledger, settler, log, pollMilliseconds });
  recovery.start();
  onTestFinished(() => recovery.stop());
}

test('payments that were abandoned before a process started are resumed immediately', async () => {
  const [payment] = await abandoned(1);
  const resumed = Promise.withResolvers<string>();
  startRecovery(async (id) => resumed.resolve(id));
  expect(await resumed.promise).toBe(payment!.id);
});

test("a slow settlement doesn't keep other abandoned payments waiting", async () => {
  const payments = await abandoned(50);
  const seen = new Set<string>();
  const slow = Promise.withResolvers<void>();
  startRecovery(async (id) => {
    seen.add(id);
    if (seen.size <= 3) await slow.promise;
  });
  onTestFinished(() => slow.resolve());
  await expect.poll(() => seen.size).toBe(payments.length);
});

test("an account whose payments are stuck doesn't occupy all slots, whether or not other payments are already waiting", async () => {
  const stuck = new Set((await abandoned(60)).map(({ id }) => id));
  const other = (await ledgers.project()).id;
  const [waiting] = await abandoned(1, other);
  const seen = new Set<string>();
  const slow = Promise.withResolvers<void>();
  startRecovery(async (id) => {
    seen.add(id);
    if (stuck.has(id)) await slow.promise;
  }, 20);
  onTestFinished(() => slow.resolve());
  await expect.poll(() => seen.has(waiting!.id)).toBe(true);
  const [later] = await abandoned(1, (await ledgers.project()).id);
  await expect.poll(() => seen.has(later!.id)).toBe(true);
  expect([...seen].filter((id) => stuck.has(id))).toHaveLength(20);
  slow.resolve();
  await expect.poll(() => seen.size).toBe(62);
});

test('accounts take turns', async () => {
  const projectIds = [projectId, (await ledgers.project()).id];
  for (const project of projectIds) await abandoned(10, project);
  const { ledger } = ledgers;
  const taken = await ledger.takeAbandoned(8);
  expect(projectIds.map((id) => taken.filter((payment) => payment.projectId === id).length)).toEqual([3, 3]);
  const next = await ledger.takeAbandoned(8, [projectId, projectId, projectId, projectId]);
  expect(next.map((payment) => payment.projectId)).toEqual([
    projectIds[1],
    projectIds[1],
    projectIds[1],
    projectIds[1],
  ]);
});
