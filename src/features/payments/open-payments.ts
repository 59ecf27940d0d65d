import type { Database } from '../../database/client.ts';
import { runStatement, statement } from '../../database/statement.ts';
import type { PaymentStatus } from '../../generated/prisma/client.ts';

/** The statuses of payments that aren't final. */
export const OPEN_STATUSES = [
  'CLAIMED',
  'VERIFIED',
  'SERVED',
  'SETTLING',
  'UNKNOWN',
] as const satisfies PaymentStatus[];

export type OpenPayments = {
  counts: Record<(typeof OPEN_STATUSES)[number], number>;
  /** Seconds since the oldest UNKNOWN payment was served, or 0 if no payment is UNKNOWN. */
  oldestUnknownSeconds: number;
};

type Row = { status: (typeof OPEN_STATUSES)[number]; count: number; oldestSeconds: number };

const READ_OPEN = statement(
  'payment-read-open',
  `SELECT "status", count(*)::int AS "count",
     extract(epoch FROM now() - min(coalesce("servedAt", "createdAt")))::float8 AS "oldestSeconds"
   FROM "Payment" WHERE "leasedUntil" IS NOT NULL GROUP BY "status"`,
);

/** Counts the payments that aren't final. Only open payments have a lease, and they have their own index. */
export async function readOpenPayments(pool: Database['pool']): Promise<OpenPayments> {
  const rows = (await runStatement(pool, READ_OPEN())).rows as Row[];
  const counts = { CLAIMED: 0, VERIFIED: 0, SERVED: 0, SETTLING: 0, UNKNOWN: 0 };
  for (const { status, count } of rows) counts[status] = count;
  const oldest = rows.find(({ status }) => status === 'UNKNOWN')?.oldestSeconds ?? 0;
  return { counts, oldestUnknownSeconds: Math.max(0, oldest) };
}
