import { withConnection } from '../../src/database/connection.ts';

/**
 * Checks that the ledger has exactly one settled payment for each response that buyers got, and nothing else. Daily
 * revenue and customer totals must match the ledger.
 *
 * @throws Error if a number differs.
 */
export async function checkBooks(databaseUrl: string, paid: number, amountAtomic: string): Promise<void> {
  const { rows } = await withConnection(databaseUrl, 'bench', (client) =>
    client.query<{ book: string; count: number; total: string }>(`
    SELECT 'payments' AS book, count(*)::int AS count, coalesce(sum("amountAtomic"), 0)::text AS total FROM "Payment"
    UNION ALL
    SELECT 'settled payments', count(*)::int, coalesce(sum("amountAtomic"), 0)::text FROM "Payment"
    WHERE "status" = 'SETTLED'
    UNION ALL
    SELECT 'revenue by day', coalesce(sum("paymentCount"), 0)::int, coalesce(sum("totalAtomic"), 0)::text
    FROM "RevenueDay"
    UNION ALL
    SELECT 'customers', coalesce(sum("paymentCount"), 0)::int, coalesce(sum("totalAtomic"), 0)::text FROM "Customer"`),
  );
  const total = String(BigInt(paid) * BigInt(amountAtomic));
  const wrong = rows.filter((row) => row.count !== paid || row.total !== total);
  if (wrong.length === 0) return;
  const list = wrong.map((row) => `${row.book}: ${row.count} with ${row.total}`).join('; ');
  throw new Error(`Buyers got ${paid} responses for ${total}, but the ledger has ${list}.`);
}
