import type pg from 'pg';
import { deleteWhere, deletionStatement } from '../../../database/batches.ts';
import { runStatement, statement } from '../../../database/statement.ts';

/** How long offers are kept after they end. They count toward the limits for a day. */
const KEPT_DAYS = 30;

const END_EXPIRED = statement(
  'transfer-end-expired',
  `UPDATE "ProjectTransfer" SET "status" = 'EXPIRED', "endedAt" = "expiresAt"
   WHERE "status" = 'PENDING' AND "expiresAt" <= now()`,
);

/**
 * Ends offers that have expired, which closes their notices. Deletes old offers, because they contain email addresses.
 */
export async function sweepTransfers(pool: pg.Pool): Promise<void> {
  await runStatement(pool, END_EXPIRED());
  await deleteWhere(pool, DELETE_ENDED);
}

const DELETE_ENDED = deletionStatement(
  'transfers-delete-ended',
  'ProjectTransfer',
  `"endedAt" < now() - interval '${KEPT_DAYS} days'`,
);
