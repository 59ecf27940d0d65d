import type { Queryable } from '../../database/client.ts';
import { runStatement, statement } from '../../database/statement.ts';
import { takeOfMinute } from '../../limits/rate-limit.ts';

const PER_MINUTE = 10;

const READ_ACCOUNT = statement('project-account', `SELECT "userId" AS "account" FROM "Project" WHERE "id" = $1`);

/**
 * Whether an account may change many waiting deliveries in one step, up to 10,000, because a destination was paused or
 * resumed, or its order changed. If not, nothing is lost: workers hold deliveries when they claim them, and
 * `releaseStranded` and `recheckWaiting` release the others. Without the limit, one account could make the database
 * rewrite its deliveries over and over.
 */
export async function mayChangeWaiting(db: Queryable, projectId: string): Promise<boolean> {
  const { rows } = await runStatement<{ account: string }>(db, READ_ACCOUNT(projectId));
  return rows[0] !== undefined && takeOfMinute(db, `changed-queues ${rows[0].account}`, PER_MINUTE);
}
