import type { Database } from '../../database/client.ts';

/**
 * Deletes payments that failed at VERIFY more than an hour ago: nothing proves who presented them, so however many
 * somebody sends, they do not pile up at a seller.
 */
export async function sweepRefusedPayments(pool: Database['pool']): Promise<void> {
  await pool.query(`DELETE FROM "Payment" WHERE "failureStage" = 'VERIFY' AND "createdAt" < now() - interval '1 hour'`);
}
