import type { Queryable } from '../../database/client.ts';
import { runStatement, statement } from '../../database/statement.ts';
import { databaseTime } from '../../database/time.ts';

/** How many deliveries are changed in one step, because there may be many. */
const BATCH_SIZE = 10_000;

// A new lease token keeps a worker that still has the delivery from recording a result.
const SKIP = statement(
  'delivery_skip_older',
  `
  UPDATE "Delivery" SET "status" = 'SKIPPED', "reason" = 'restored', "completedAt" = now(), "updatedAt" = now(),
    "nextAttemptAt" = NULL, "leasedUntil" = NULL, "leaseToken" = "leaseToken" + 1, "isParked" = false
  WHERE "id" = ANY(ARRAY(
    SELECT "id" FROM "Delivery" WHERE "outcome" IS NULL AND "createdAt" < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
  ))`,
);

const CANCEL_REPLAYS = statement(
  'replays-cancel-older',
  `UPDATE "Replay" SET "status" = 'CANCELLED', "finishedAt" = now(), "updatedAt" = now()
     WHERE "status" = 'RUNNING' AND "createdAt" < $1`,
);

const DISCARD_MESSAGES = statement(
  'notice-messages-discard-older',
  `UPDATE "NoticeMessage" SET "nextAttemptAt" = NULL, "error" = 'The message is older than the restored copy.'
     WHERE "nextAttemptAt" IS NOT NULL AND "createdAt" < $1`,
);

/**
 * Skips every unfinished delivery of a restored copy, cancels its replays, and discards its messages to contacts. Call
 * it only while the installation is on hold, because workers would otherwise send some of them meanwhile.
 *
 * @returns how many deliveries were skipped.
 */
export async function skipOlder(db: Queryable): Promise<number> {
  const now = await databaseTime(db);
  await runStatement(db, CANCEL_REPLAYS(now));
  await runStatement(db, DISCARD_MESSAGES(now));
  for (let skipped = 0; ; ) {
    const { rowCount } = await runStatement(db, SKIP(now, BATCH_SIZE));
    skipped += rowCount ?? 0;
    if (rowCount !== BATCH_SIZE) return skipped;
  }
}
