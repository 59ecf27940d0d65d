import { ADVISORY_LOCKS } from '../../../database/advisory-locks.ts';
import type { Writer } from '../../../database/batch-client.ts';
import { preparedStatement } from '../../../database/statement.ts';

/** A project whose books are open. */
export type Books = { projectId: string; account: string; milestonesAtomic: readonly bigint[] };

/**
 * Starts entries in the books of projects. Entries don't wait for each other. They wait only for a day that is being
 * closed, so everything booked on a day is in its summary. To avoid a deadlock, this locks the projects first, as
 * project deletion does.
 *
 * @returns the books by project, without projects that no longer exist.
 */
export async function openBooks(batch: Writer, projectIds: readonly string[]): Promise<Map<string, Books>> {
  const rows = await batch.query<{ projectId: string; account: string; milestones: string[] }>(
    OPEN([...new Set(projectIds)], ADVISORY_LOCKS.books),
  );
  return new Map(
    rows.map(({ milestones, ...row }) => [row.projectId, { ...row, milestonesAtomic: milestones.map(BigInt) }]),
  );
}

const OPEN = preparedStatement(
  'payment-books',
  `
  WITH project AS MATERIALIZED (
    SELECT "id", "userId", "milestonesAtomic" FROM "Project" WHERE "id" = ANY($1::text[]) ORDER BY "id" FOR KEY SHARE
  )
  SELECT "id" AS "projectId", "userId" AS "account", "milestonesAtomic"::text[] AS "milestones",
    pg_advisory_xact_lock_shared($2::int, hashtext("id"))::text AS "locked"
  FROM project`,
);
