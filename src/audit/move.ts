import type { Transaction } from '../database/client.ts';
import { executeWithPrisma, statement } from '../database/statement.ts';

/** How many entries move together with a project. A log can have millions, which would take minutes. */
const MOVED_WITH_PROJECT = 5_000;

/**
 * Moves up to $3 entries of a project, the newest first, from the log of the account $2 to the log of the project's
 * owner. The trigger that keeps entries from being changed allows only this.
 */
export const MOVE_ENTRIES = statement(
  'audit-move',
  `UPDATE "AuditEntry" SET "userId" = (SELECT "userId" FROM "Project" WHERE "id" = $1)
   WHERE "id" = ANY (ARRAY(
     SELECT "id" FROM "AuditEntry" WHERE "projectId" = $1 AND "userId" = $2 ORDER BY "id" DESC LIMIT $3
   ))`,
);

/**
 * Moves the newest entries of a project to its new owner's log, in the transaction that changes the owner. The sweep of
 * transfers moves the rest.
 */
export async function moveNewestEntries(tx: Transaction, projectId: string, previousId: string): Promise<void> {
  await executeWithPrisma(tx, MOVE_ENTRIES(projectId, previousId, MOVED_WITH_PROJECT));
}
