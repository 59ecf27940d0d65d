import type pg from 'pg';

/** How long notices are kept after they end. Open ones are kept. */
const NOTICE_DAYS = 90;
/** Only messages of the last days help to find out why somebody didn't get one. */
const MESSAGE_DAYS = 7;
/** Longer than the service could be down and still send last week's digest. */
const DIGEST_DAYS = 30;

/** Deletes old notices, finished messages, and the records of past digests. */
export async function sweepNotices(pool: pg.Pool): Promise<void> {
  await pool.query(`DELETE FROM "Notice" WHERE "closedAt" < now() - interval '${NOTICE_DAYS} days'`);
  await pool.query(
    `DELETE FROM "NoticeMessage" WHERE "nextAttemptAt" IS NULL AND "createdAt" < now() - interval '${MESSAGE_DAYS} days'`,
  );
  await pool.query(`DELETE FROM "WeeklyDigest" WHERE "createdAt" < now() - interval '${DIGEST_DAYS} days'`);
}

export type NoticeCount = { type: string; count: number };

/** How many notices of each type are open. */
export async function countOpenNotices(db: Pick<pg.Pool, 'query'>): Promise<NoticeCount[]> {
  const { rows } = await db.query<NoticeCount>(
    `SELECT "type", count(*)::int AS "count" FROM "Notice" WHERE "closedAt" IS NULL GROUP BY "type"`,
  );
  return rows;
}
