import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { type Child, now } from '../support/child.ts';
import type { ClientMethods } from './clients.ts';

/** If nothing arrives for this long, everything that is missing counts as lost. */
const LOST_MILLISECONDS = 90_000;

/** The counts that must be zero at the end. */
export type Books = Record<string, number>;

/** Waits until everything has arrived, and compares the clients, the database, and the facilitator. */
export async function checkBooks(pool: pg.Pool, clients: Child<ClientMethods>, settlements: number): Promise<Books> {
  let missing = await clients.call('missing');
  let unsettled = await countUnsettled(pool);
  const left = () => Object.values(missing).reduce((sum, count) => sum + count, unsettled);
  for (let movedAt = now(); left() > 0 && now() - movedAt < LOST_MILLISECONDS; ) {
    const before = left();
    await sleep(500);
    [missing, unsettled] = [await clients.call('missing'), await countUnsettled(pool)];
    if (left() !== before) movedAt = now();
  }

  const { served, settledEvents, priceAtomic } = await clients.call('totals');
  const { rows } = await pool.query<{ nonce: string }>(`SELECT "nonce" FROM "Payment" WHERE "status" = 'SETTLED'`);
  const settled = new Set(rows.map(({ nonce }) => nonce));
  const responses = new Set(served);
  const { rows: books } = await pool.query<{ revenue: number; customers: number; atomic: string }>(`
    SELECT (SELECT coalesce(sum("paymentCount"), 0)::int FROM "RevenueDay") AS "revenue",
      (SELECT coalesce(sum("paymentCount"), 0)::int FROM "Customer") AS "customers",
      (SELECT coalesce(sum("totalAtomic"), 0)::text FROM "RevenueDay") AS "atomic"`);
  const { revenue, customers, atomic } = books[0]!;
  return {
    'changes with a lost delivery': missing.deliveries,
    'changes with a lost retry': missing.retriedDeliveries,
    'live frames lost': missing.frames,
    'payments stuck': unsettled,
    'paid responses without a settled payment': served.filter((nonce) => !settled.has(nonce)).length,
    'settled payments without a response': [...settled].filter((nonce) => !responses.has(nonce)).length,
    'missing or extra settlements': Math.abs(settlements - settled.size),
    'payments with a lost delivery': settled.size - settledEvents,
    'payments missing from the revenue, or counted twice': Math.abs(revenue - settled.size),
    'payments missing from the customer totals, or counted twice': Math.abs(customers - settled.size),
    'difference in revenue, in atomic units': Number(BigInt(atomic) - BigInt(settled.size) * BigInt(priceAtomic)),
  };
}

async function countUnsettled(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM "Payment" WHERE "status" NOT IN ('SETTLED', 'FAILED')`,
  );
  return rows[0]!.n;
}
