import { setTimeout as sleep } from 'node:timers/promises';
import { openPool } from '../support/open-pool.ts';
import { type Chain, PRICE_ATOMIC } from './chain.ts';
import { type Load, SELLER } from './load.ts';

/** If nothing finishes for this long, everything that is unfinished counts as stuck. */
const STUCK_MILLISECONDS = 180_000;

/** The counts that must be zero at the end. */
export type Books = Record<string, number>;

/** Waits until everything is finished, and compares the clients, the database, the receiver, and the chain. */
export async function checkBooks(databaseUrl: string, load: Load, chain: Chain): Promise<Books> {
  // Checking takes minutes. Lost connections are replaced.
  const database = openPool({ connectionString: databaseUrl, max: 1 });
  const count = async (sql: string, values: unknown[] = []): Promise<number> =>
    (await database.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${sql}`, values)).rows[0]!.n;
  const unfinished = async () =>
    (await count(`"Delivery" WHERE "status" <> 'SUCCEEDED'`)) +
    (await count(`"Payment" WHERE "status" NOT IN ('SETTLED', 'FAILED')`));

  let left = await unfinished();
  for (let movedAt = performance.now(); left > 0 && performance.now() - movedAt < STUCK_MILLISECONDS; ) {
    await sleep(500);
    const now = await unfinished();
    if (now !== left) movedAt = performance.now();
    left = now;
  }

  const { rows: events } = await database.query<{ price: string }>(
    `SELECT data->>'priceUsd' AS price FROM "Event" WHERE type = 'endpoint.pricing_changed' AND "projectId" = $1`,
    [load.projectId],
  );
  const stored = new Set(events.map(({ price }) => Math.round(Number(price) * 1e6)));
  const charged = new Set<string>();
  for (const payment of load.payments) if (await chain.isCharged(payment)) charged.add(payment.nonce);
  const { rows: settled } = await database.query<{ nonce: string }>(
    `SELECT nonce FROM "Payment" WHERE "status" = 'SETTLED'`,
  );
  const inLedger = new Set(settled.map(({ nonce }) => nonce));
  const served = load.payments.filter(({ isServed }) => isServed);
  const income = await chain.balanceOf(SELLER);
  for (const payment of load.payments) {
    if (charged.has(payment.nonce) && !payment.isServed) console.log('charged, not served:', payment);
  }

  const books = {
    'acknowledged changes lost': load.changes.filter((number) => !stored.has(number)).length,
    'acknowledged endpoints lost': load.created.length - (await count(`"Endpoint" WHERE id = ANY($1)`, [load.created])),
    'endpoints created twice': load.created.length - new Set(load.created).size,
    'deliveries lost': [...stored].filter((number) => !load.received.has(number)).length,
    'payments and deliveries stuck': left,
    'responses served without a charge': served.filter(({ nonce }) => !charged.has(nonce)).length,
    'charges without a response': charged.size - served.filter(({ nonce }) => charged.has(nonce)).length,
    'requests that reached the API twice': [...load.calls.values()].filter((calls) => calls > 1).length,
    'charges missing from the ledger': [...charged].filter((nonce) => !inLedger.has(nonce)).length,
    'charges only in the ledger': [...inLedger].filter((nonce) => !charged.has(nonce)).length,
    'difference in income, in atomic units': Number(income - BigInt(charged.size) * PRICE_ATOMIC),
  };
  await database.end();
  return books;
}
