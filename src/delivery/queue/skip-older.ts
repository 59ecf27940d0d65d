import type { Queryable } from '../../database/client.ts';

/** How many deliveries are changed in one step, because there may be many. */
const BATCH_SIZE = 10_000;

// A new lease token keeps a worker that still has the delivery from recording a result.
const SKIP = `
  UPDATE "Delivery" SET "status" = 'SKIPPED', "reason" = 'restored', "completedAt" = now(), "updatedAt" = now(),
    "nextAttemptAt" = NULL, "leasedUntil" = NULL, "leaseToken" = "leaseToken" + 1, "isParked" = false
  WHERE "id" = ANY(ARRAY(
    SELECT "id" FROM "Delivery" WHERE "outcome" IS NULL AND "createdAt" < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
  ))`;

/**
 * Skips every unfinished delivery of a restored copy, cancels its replays, and discards its messages to contacts. Call
 * it only while the installation is on hold, because workers would otherwise send some of them meanwhile.
 *
 * @returns how many deliveries were skipped.
 */
export async function skipOlder(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ now: Date }>('SELECT clock_timestamp() AS "now"');
  const { now } = rows[0]!;
  await db.query(
    `UPDATE "Replay" SET "status" = 'CANCELLED', "finishedAt" = now(), "updatedAt" = now()
     WHERE "status" = 'RUNNING' AND "createdAt" < $1`,
    [now],
  );
  await db.query(
    `UPDATE "NoticeMessage" SET "nextAttemptAt" = NULL, "error" = 'The message is older than the restored copy.'
     WHERE "nextAttemptAt" IS NOT NULL AND "createdAt" < $1`,
    [now],
  );
  for (let skipped = 0; ; ) {
    const { rowCount } = await db.query(SKIP, [now, BATCH_SIZE]);
    skipped += rowCount ?? 0;
    if (rowCount !== BATCH_SIZE) return skipped;
  }
}
