import type { Database } from '../../database/client.ts';

/**
 * Deletes payments that failed at VERIFY more than an hour ago. Nothing proves who sent them, so they must not pile up in
 * a seller's project.
 */
export async function sweepRefusedPayments(pool: Database['pool']): Promise<void> {
  await pool.query(`DELETE FROM "Payment" WHERE "failureStage" = 'VERIFY' AND "createdAt" < now() - interval '1 hour'`);
}
