import type { Queryable } from '../../database/client.ts';
import { takeOfMinute } from '../../limits/rate-limit.ts';

const PER_MINUTE = 10;

/**
 * Whether an account may change many waiting deliveries in one step, up to 10,000, because a destination was paused or
 * resumed, or its order changed. If not, nothing is lost: workers hold deliveries when they claim them, and
 * `releaseStranded` and `recheckWaiting` release the others. Without the limit, one account could make the database
 * rewrite its deliveries over and over.
 */
export async function mayChangeWaiting(db: Queryable, projectId: string): Promise<boolean> {
  const { rows } = await db.query<{ account: string }>(`SELECT "userId" AS "account" FROM "Project" WHERE "id" = $1`, [
    projectId,
  ]);
  return rows[0] !== undefined && takeOfMinute(db, `changed-queues ${rows[0].account}`, PER_MINUTE);
}
