import { deleteWhere, deletionStatement } from '../../database/batches.ts';
import type { Database } from '../../database/client.ts';

/**
 * Deletes payments that failed at VERIFY more than an hour ago. Their senders are unverified, so they shouldn't
 * accumulate in a seller's project.
 */
export async function sweepRefusedPayments(pool: Database['pool']): Promise<void> {
  await deleteWhere(pool, DELETE_REFUSED);
}

const DELETE_REFUSED = deletionStatement(
  'payments-delete-refused',
  'Payment',
  `"failureStage" = 'VERIFY' AND "createdAt" < now() - interval '1 hour'`,
);
