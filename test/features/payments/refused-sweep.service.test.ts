import { afterAll, beforeAll, expect, test } from 'vitest';
import { leaseOf } from '../../../src/features/payments/lease.ts';
import { sweepRefusedPayments } from '../../../src/features/payments/refused-sweep.ts';
import { claimed, copyPayment, newPayment, openTestLedger, type TestLedger, withSlowDeletes } from './support.ts';

let books: TestLedger;

beforeAll(async () => {
  books = await openTestLedger();
});
afterAll(() => books?.close());

test('payments that failed verification are deleted after an hour, and all others are kept', async () => {
  const project = await books.project();
  const leased = async () => leaseOf(await claimed(books.ledger, newPayment(project.id)));
  const [refused, failed, open] = [await leased(), await leased(), await leased()];
  const failure = { reason: 'invalid_exact_evm_signature', message: 'Forged.' };
  await books.ledger.failed(refused, { stage: 'VERIFY', ...failure });
  await books.ledger.verified(failed);
  await books.ledger.failed(failed, { stage: 'UPSTREAM', ...failure });
  const kept = async () => (await books.db.prisma.payment.findMany()).map(({ id }) => id).sort();
  const all = [refused, failed, open].map(({ paymentId }) => paymentId).sort();

  await books.db.pool.query(`UPDATE "Payment" SET "createdAt" = now() - interval '59 minutes'`);
  await sweepRefusedPayments(books.db.pool);
  expect(await kept()).toEqual(all);
  await books.db.pool.query(`UPDATE "Payment" SET "createdAt" = now() - interval '61 minutes'`);
  await sweepRefusedPayments(books.db.pool);
  expect(await kept()).toEqual(all.filter((id) => id !== refused.paymentId));
});

test('more refused payments than one statement can delete in time are deleted in batches', async () => {
  const slow = await openTestLedger();
  const pool = await withSlowDeletes(slow, 'Payment');
  try {
    const project = await slow.project();
    const lease = leaseOf(await claimed(slow.ledger, newPayment(project.id)));
    await slow.ledger.failed(lease, { stage: 'VERIFY', reason: 'invalid_exact_evm_signature', message: 'Forged.' });
    await slow.db.pool.query(`UPDATE "Payment" SET "createdAt" = now() - interval '61 minutes'`);
    await copyPayment(slow.db, lease.paymentId, 299);
    expect(await slow.db.prisma.payment.count()).toBe(300);
    await sweepRefusedPayments(pool);
    expect(await slow.db.prisma.payment.count()).toBe(0);
  } finally {
    await pool.end();
    await slow.close();
  }
});
