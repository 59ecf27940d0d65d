import { afterAll, beforeAll, expect, test } from 'vitest';
import { sweepPaymentAnswers } from '../../../src/features/payments/answer-sweep.ts';
import { leaseOf, newPayment, openTestLedger, type TestLedger } from './support.ts';

const KILOBYTE = 1024;

let books: TestLedger;

beforeAll(async () => {
  books = await openTestLedger();
});

afterAll(() => books?.close());

type Made = { bytes: number; isSettled?: boolean; keepSeconds?: number };

/** Pays and stores an answer of that size. */
async function answerOf(projectId: string, { bytes, isSettled = true, keepSeconds = 3600 }: Made): Promise<string> {
  const { ledger } = books;
  const claim = await ledger.claim(newPayment(projectId));
  const lease = leaseOf(claim.payment);
  await ledger.verified(lease);
  const keepUntil = new Date(Date.now() + keepSeconds * 1000);
  // What compresses well counts with the size it has when it is given out.
  await ledger.served(lease, { statusCode: 200, headers: {}, body: Buffer.alloc(bytes), durationMs: 1, keepUntil });
  await ledger.settling(lease);
  if (isSettled) await ledger.settled(lease, { transactionHash: `0x${lease.paymentId}`, settledAt: new Date() });
  return lease.paymentId;
}

/** Which of these answers are still kept. */
async function keptOf(paymentIds: string[]): Promise<boolean[]> {
  return Promise.all(paymentIds.map(async (id) => (await books.ledger.answerOf(id)) !== null));
}

test('of the answers that are too much for a project the large ones go first, and of each kind the oldest', async () => {
  const [project, other] = [await books.project(), await books.project()];
  const made: Made[] = [
    { bytes: 100 * KILOBYTE },
    { bytes: 300 * KILOBYTE },
    { bytes: 300 * KILOBYTE },
    { bytes: 100 * KILOBYTE },
  ];
  const ids: string[] = [];
  for (const answer of made) ids.push(await answerOf(project.id, answer));
  const others = [await answerOf(other.id, { bytes: 400 * KILOBYTE })];

  await sweepPaymentAnswers(books.db.pool, 800 * KILOBYTE);
  expect(await keptOf(ids)).toEqual([true, true, true, true]);
  await sweepPaymentAnswers(books.db.pool, 500 * KILOBYTE);
  expect(await keptOf(ids)).toEqual([true, false, true, true]);
  await sweepPaymentAnswers(books.db.pool, 499 * KILOBYTE);
  expect(await keptOf(ids)).toEqual([true, false, false, true]);
  expect(await keptOf(others)).toEqual([true]);
  await sweepPaymentAnswers(books.db.pool, 100 * KILOBYTE);
  expect(await keptOf(ids)).toEqual([false, false, false, true]);
  expect(await keptOf(others)).toEqual([false]);
});

test('answers that nobody has been given yet stay, and small ones do not count', async () => {
  const project = await books.project();
  const ids = [
    await answerOf(project.id, { bytes: 900 * KILOBYTE, isSettled: false }),
    await answerOf(project.id, { bytes: 16 * KILOBYTE }),
    await answerOf(project.id, { bytes: 17 * KILOBYTE }),
    await answerOf(project.id, { bytes: 1, keepSeconds: -1 }),
  ];
  await sweepPaymentAnswers(books.db.pool, 0);
  expect(await keptOf(ids)).toEqual([true, true, false, false]);
});
