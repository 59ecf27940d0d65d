import type pg from 'pg';
import { deleteWhere, deletionStatement } from '../../database/batches.ts';
import { runStatement, statement } from '../../database/statement.ts';

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
const CLOSE_GONE = statement(
  'notices-close-gone',
  `
  UPDATE "Notice" n SET "closedAt" = now(), "updatedAt" = now(), "dueAt" = NULL
  WHERE n."type" = 'delivery.held' AND n."closedAt" IS NULL
    AND NOT EXISTS (SELECT FROM "Delivery" d WHERE d."id" = n."subjectId")`,
);

/** Closes notices about deleted deliveries, and deletes old notices, finished messages, and the records of past digests. */
export async function sweepNotices(pool: pg.Pool): Promise<void> {
  await runStatement(pool, CLOSE_GONE());
  await deleteWhere(pool, DELETE_CLOSED_NOTICES);
  await deleteWhere(pool, DELETE_DONE_NOTICE_MESSAGES);
  await deleteWhere(pool, DELETE_OLD_DIGESTS);
}

export type NoticeCount = { type: string; count: number };

const COUNT_OPEN = statement(
  'notices-count-open',
  `SELECT "type", count(*)::int AS "count" FROM "Notice" WHERE "closedAt" IS NULL GROUP BY "type"`,
);

/** How many notices of each type are open. */
export async function countOpenNotices(db: Pick<pg.Pool, 'query'>): Promise<NoticeCount[]> {
  const { rows } = await runStatement<NoticeCount>(db, COUNT_OPEN());
  return rows;
}

const DELETE_CLOSED_NOTICES = deletionStatement(
  'notices-delete-closed',
  'Notice',
  `"closedAt" < now() - interval '${NOTICE_DAYS} days'`,
);
const DELETE_DONE_NOTICE_MESSAGES = deletionStatement(
  'notice-messages-delete-done',
  'NoticeMessage',
  `"nextAttemptAt" IS NULL AND "createdAt" < now() - interval '${MESSAGE_DAYS} days'`,
);
const DELETE_OLD_DIGESTS = deletionStatement(
  'digests-delete-old',
  'WeeklyDigest',
  `"createdAt" < now() - interval '${DIGEST_DAYS} days'`,
);
