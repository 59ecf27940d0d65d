import type pg from 'pg';
import { deleteWhere } from '../../database/batches.ts';

/** How long notices are kept after they end. Open ones are kept. */
const NOTICE_DAYS = 90;
/** Only recent messages are useful for finding out why someone didn't get one. */
const MESSAGE_DAYS = 7;
/** After this long, a digest can no longer be due, even if the service was down. */
const DIGEST_DAYS = 30;

/**
 * Closes notices about held deliveries that no longer exist. Their trigger doesn't run when a whole week of deliveries is
 * dropped.
 */
const CLOSE_GONE = `
  UPDATE "Notice" n SET "closedAt" = now(), "updatedAt" = now(), "dueAt" = NULL
  WHERE n."type" = 'delivery.held' AND n."closedAt" IS NULL
    AND NOT EXISTS (SELECT FROM "Delivery" d WHERE d."id" = n."subjectId")`;

/** Closes notices about deleted deliveries, and deletes old notices, finished messages, and the records of past digests. */
export async function sweepNotices(pool: pg.Pool): Promise<void> {
  await pool.query(CLOSE_GONE);
  await deleteWhere(pool, 'Notice', `"closedAt" < now() - interval '${NOTICE_DAYS} days'`);
  await deleteWhere(
    pool,
    'NoticeMessage',
    `"nextAttemptAt" IS NULL AND "createdAt" < now() - interval '${MESSAGE_DAYS} days'`,
  );
  await deleteWhere(pool, 'WeeklyDigest', `"createdAt" < now() - interval '${DIGEST_DAYS} days'`);
}

export type NoticeCount = { type: string; count: number };

/** How many notices of each type are open. */
export async function countOpenNotices(db: Pick<pg.Pool, 'query'>): Promise<NoticeCount[]> {
  const { rows } = await db.query<NoticeCount>(
    `SELECT "type", count(*)::int AS "count" FROM "Notice" WHERE "closedAt" IS NULL GROUP BY "type"`,
  );
  return rows;
}
