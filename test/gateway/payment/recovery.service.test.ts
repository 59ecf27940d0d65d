import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { leaseOf } from '../../../src/features/payments/lease.ts';
import { createRecovery } from '../../../src/gateway/payment/recovery.ts';
import type { Settler } from '../../../src/gateway/payment/settle.ts';
import type { Payment } from '../../../src/generated/prisma/client.ts';
import { answer, claimed, log, newPayment, openTestLedger, type TestLedger } from '../../features/payments/support.ts';

/** Longer than any test, so that only the first round happens. */
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
async function abandoned(count: number): Promise<Payment[]> {
  const payments: Payment[] = [];
  for (let made = 0; made < count; made++) {
    const payment = await claimed(ledgers.ledger, newPayment(projectId));
    await ledgers.ledger.verified(leaseOf(payment));
    await ledgers.ledger.served(leaseOf(payment), answer());
    payments.push(payment);
  }
  await ledgers.db.prisma.$executeRaw`UPDATE "Payment" SET "leasedUntil" = now()`;
  return payments;
}

/** Starts a recovery whose settlements end when `resolve` does. */
function startRecovery(resolve: (paymentId: string) => Promise<void>): void {
  const settler: Settler = {
    settle: () => Promise.reject(new Error('No payment here waits for its first settlement.')),
    async resolve(payment) {
      await resolve(payment.id);
      return { kind: 'unresolved', isDenied: false };
    },
  };
  const recovery = createRecovery({ ledger: ledgers.ledger, settler, log, pollMilliseconds: POLL_MILLISECONDS });
  recovery.start();
  onTestFinished(() => recovery.stop());
}

test('payments that were abandoned before a process started are resumed at once', async () => {
  const [payment] = await abandoned(1);
  const resumed = Promise.withResolvers<string>();
  startRecovery(async (id) => resumed.resolve(id));
  expect(await resumed.promise).toBe(payment!.id);
});

test("a settlement that takes long doesn't keep other abandoned payments waiting", async () => {
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
