import type pg from 'pg';
import { deleteWhere } from '../../../database/batches.ts';

/** How long offers are kept after they end. They count toward the limits for a day. */
const KEPT_DAYS = 30;

/**
 * Ends offers that have expired, which closes their notices. Deletes old offers, because they contain email addresses.
 */
export async function sweepTransfers(pool: pg.Pool): Promise<void> {
  await pool.query(
    `UPDATE "ProjectTransfer" SET "status" = 'EXPIRED', "endedAt" = "expiresAt"
     WHERE "status" = 'PENDING' AND "expiresAt" <= now()`,
  );
  await deleteWhere(pool, 'ProjectTransfer', `"endedAt" < now() - interval '${KEPT_DAYS} days'`);
}
