import { afterAll, beforeAll, expect, test } from 'vitest';
import { leaseOf } from '../../../src/features/payments/lease.ts';
import { sweepKeptResponses } from '../../../src/features/payments/response-sweep.ts';
import { copyPayment, newPayment, openTestLedger, type TestLedger, withSlowDeletes } from './support.ts';

const KILOBYTE = 1024;

let books: TestLedger;

beforeAll(async () => {
  books = await openTestLedger();
});

afterAll(() => books?.close());

type Made = { bytes: number; isSettled?: boolean; keepSeconds?: number };

/** Stores a response of this size for a new payment. */
async function keptResponse(projectId: string, { bytes, isSettled = true, keepSeconds = 3600 }: Made): Promise<string> {
  const { ledger } = books;
  const claim = await ledger.claim(newPayment(projectId));
  const lease = leaseOf(claim.payment);
  await ledger.verified(lease);
  const keepUntil = new Date(Date.now() + keepSeconds * 1000);
  // Compressible bodies count with their uncompressed size.
  await ledger.served(lease, { statusCode: 200, headers: {}, body: Buffer.alloc(bytes), durationMs: 1, keepUntil });
  if (isSettled) await ledger.settled(lease, { transactionHash: `0x${lease.paymentId}`, settledAt: new Date() });
  return lease.paymentId;
}

/** Returns, for each payment, whether its response is still stored. */
async function keptOf(paymentIds: string[]): Promise<boolean[]> {
  return Promise.all(paymentIds.map(async (id) => (await books.ledger.keptResponse(id)) !== null));
}

test("a project's excess responses are deleted, large ones first, then the oldest", async () => {
  const [project, other] = [await books.project(), await books.project()];
  const made: Made[] = [
    { bytes: 100 * KILOBYTE },
    { bytes: 300 * KILOBYTE },
    { bytes: 300 * KILOBYTE },
    { bytes: 100 * KILOBYTE },
  ];
  const ids: string[] = [];
  for (const response of made) ids.push(await keptResponse(project.id, response));
  const others = [await keptResponse(other.id, { bytes: 400 * KILOBYTE })];

  await sweepKeptResponses(books.db.pool, { maxProjectBytes: 800 * KILOBYTE });
  expect(await keptOf(ids)).toEqual([true, true, true, true]);
  await sweepKeptResponses(books.db.pool, { maxProjectBytes: 500 * KILOBYTE });
  expect(await keptOf(ids)).toEqual([true, false, true, true]);
  await sweepKeptResponses(books.db.pool, { maxProjectBytes: 499 * KILOBYTE });
  expect(await keptOf(ids)).toEqual([true, false, false, true]);
  expect(await keptOf(others)).toEqual([true]);
  await sweepKeptResponses(books.db.pool, { maxProjectBytes: 100 * KILOBYTE });
  expect(await keptOf(ids)).toEqual([false, false, false, true]);
  expect(await keptOf(others)).toEqual([false]);
});

test("responses for unsettled payments are kept, and small responses don't count toward the limit", async () => {
  const project = await books.project();
  const ids = [
    await keptResponse(project.id, { bytes: 900 * KILOBYTE, isSettled: false }),
    await keptResponse(project.id, { bytes: 16 * KILOBYTE }),
    await keptResponse(project.id, { bytes: 17 * KILOBYTE }),
    await keptResponse(project.id, { bytes: 1, keepSeconds: -1 }),
  ];
  await sweepKeptResponses(books.db.pool, { maxProjectBytes: 0 });
  expect(await keptOf(ids)).toEqual([true, true, false, false]);
});

test("an account's excess responses are deleted too, after those of each project, and its other projects' count", async () => {
  const [one, other] = [await books.project(), await books.project()];
  const second = await books.project({ userId: one.userId });
  const ids = [
    await keptResponse(one.id, { bytes: 100 * KILOBYTE }),
    await keptResponse(one.id, { bytes: 300 * KILOBYTE }),
    await keptResponse(second.id, { bytes: 100 * KILOBYTE }),
    await keptResponse(second.id, { bytes: 100 * KILOBYTE, isSettled: false }),
    await keptResponse(one.id, { bytes: 100 * KILOBYTE }),
    await keptResponse(other.id, { bytes: 100 * KILOBYTE }),
  ];
  const sweep = (accountKilobytes: number, projectKilobytes = 1_000) =>
    sweepKeptResponses(books.db.pool, {
      maxProjectBytes: projectKilobytes * KILOBYTE,
      maxAccountBytes: accountKilobytes * KILOBYTE,
    });
  await sweep(600);
  expect(await keptOf(ids)).toEqual([true, true, true, true, true, true]);
  // What a project loses doesn't count toward its account.
  await sweep(300, 200);
  expect(await keptOf(ids)).toEqual([true, false, true, true, true, true]);
  await sweep(299);
  expect(await keptOf(ids)).toEqual([false, false, true, true, true, true]);
  await sweep(100);
  expect(await keptOf(ids)).toEqual([false, false, false, true, true, true]);
});

test('more responses than one statement can delete in time are deleted in batches', async () => {
  const slow = await openTestLedger();
  const pool = await withSlowDeletes(slow, 'PaymentAnswer');
  try {
    const project = await slow.project();
    const kept = async (keepSeconds: number) => {
      const lease = leaseOf((await slow.ledger.claim(newPayment(project.id))).payment);
      await slow.ledger.verified(lease);
      const keepUntil = new Date(Date.now() + keepSeconds * 1000);
      const body = Buffer.alloc(17 * KILOBYTE);
      await slow.ledger.served(lease, { statusCode: 200, headers: {}, body, durationMs: 1, keepUntil });
      await slow.ledger.settled(lease, { transactionHash: `0x${lease.paymentId}`, settledAt: new Date() });
      await copyPayment(slow.db, lease.paymentId, 199);
    };
    await kept(-1);
    await kept(3600);
    const left = () => slow.db.prisma.paymentResponse.count();
    expect(await left()).toBe(400);
    const none = { maxProjectBytes: 0, maxAccountBytes: 0 };
    await sweepKeptResponses(pool, none);
    expect(await left()).toBe(0);
  } finally {
    await pool.end();
    await slow.close();
  }
});
