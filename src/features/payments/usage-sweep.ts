import { deleteWhere, deletionStatement } from '../../database/batches.ts';
import type { Database } from '../../database/client.ts';

/**
 * Deletes buyers' counts of periods that ended more than an hour ago. Nothing is counted in them anymore, and the
 * payments in them are final.
 */
export async function sweepBuyerUsage(pool: Database['pool']): Promise<void> {
  await deleteWhere(pool, DELETE_ENDED);
}

const DELETE_ENDED = deletionStatement(
  'buyer-usage-delete-ended',
  'BuyerUsage',
  `"endsAt" < now() - interval '1 hour'`,
);
