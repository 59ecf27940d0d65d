import type pg from 'pg';
import { MOVE_ENTRIES } from '../../../audit/move.ts';
import { deleteWhere, deletionStatement, inBatches } from '../../../database/batches.ts';
import { runStatement, statement } from '../../../database/statement.ts';
import { DELETED_PROJECT_ID, DELETED_USER_ID } from '../../deletions/soft-delete.ts';

/** How long offers are kept after they end. They count toward the limits for a day. Then those of deleted projects go. */
const KEPT_DAYS = 30;

const END_EXPIRED = statement(
  'transfer-end-expired',
  `UPDATE "ProjectTransfer" SET "status" = 'EXPIRED', "endedAt" = "expiresAt"
   WHERE "status" = 'PENDING' AND "expiresAt" <= now()`,
);

/** Long enough to move any log, even if no worker runs for days. */
const FIND_ACCEPTED = statement(
  'transfer-find-accepted',
  `SELECT DISTINCT t."projectId", t."offeredById" FROM "ProjectTransfer" t JOIN "Project" p ON p."id" = t."projectId"
   WHERE t."status" = 'ACCEPTED' AND t."endedAt" > now() - interval '7 days'
     AND p."userId" NOT IN ('${DELETED_USER_ID}', t."offeredById")`,
);

/**
 * Ends offers that have expired, which closes their notices. Moves what is left of the audit logs of projects that have
 * a new owner. Deletes old offers, because they contain email addresses.
 */
export async function sweepTransfers(pool: pg.Pool): Promise<void> {
  await runStatement(pool, END_EXPIRED());
  const { rows: accepted } = await runStatement(pool, FIND_ACCEPTED());
  for (const { projectId, offeredById } of accepted) {
    await inBatches(async (rows) => {
      const { rowCount } = await runStatement(pool, MOVE_ENTRIES(projectId, offeredById, rows));
      return rowCount ?? 0;
    });
  }
  await deleteWhere(pool, DELETE_ENDED);
}

const DELETE_ENDED = deletionStatement(
  'transfers-delete-ended',
  'ProjectTransfer',
  `"endedAt" < now() - interval '${KEPT_DAYS} days'
     OR "projectId" = '${DELETED_PROJECT_ID}' AND "createdAt" < now() - interval '1 day'`,
);
