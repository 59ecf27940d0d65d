import type { Transaction } from '../database/client.ts';
import { executeWithPrisma, statement } from '../database/statement.ts';

/** How many entries move together with a project. A log can have millions, which would take minutes. */
const MOVED_WITH_PROJECT = 5_000;

/**
 * Moves up to $3 entries of a project, the newest first, from the log of the account $2 to the log of the project's
 * owner. The trigger that keeps entries from being changed allows only this. If the project has been deleted in the
 * meantime, its entries stay where they are, because nobody can read the log of the reserved account, which has no issuer.
 */
export const MOVE_ENTRIES = statement(
  'audit-move',
  `UPDATE "AuditEntry" SET "userId" = owner."id"
   FROM "Project" p JOIN "User" owner ON owner."id" = p."userId" AND owner."issuer" <> ''
   WHERE p."id" = $1 AND "AuditEntry"."id" = ANY (ARRAY(
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
