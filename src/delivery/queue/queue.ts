import type { Queryable } from '../../database/client.ts';

/**
 * Of rows that are looked up by their id. The cast keeps the planner from reading all that is running instead, which it
 * takes for few.
 */
export const IS_RUNNING = `d."status"::text = 'RUNNING'`;

/** First tries and retries are queued apart: 0 and 1, by the same expression as in the indexes. */
export const LANE = `least("attemptCount", 1)`;

/** Unfinished, and in nobody's hands: waiting, or taken by a process whose lease has ended without a result. */
export const IS_FREE = `"outcome" IS NULL AND ("status" = 'PENDING' OR "leasedUntil" <= now())`;

/** The earliest time at which something is due, of those that compare so. Each lane has its own order. */
export const earliestDue = (comparison: string) => `(
  SELECT min(first."nextAttemptAt") FROM (VALUES (0), (1)) AS lanes(lane) CROSS JOIN LATERAL (
    SELECT "nextAttemptAt" FROM "Delivery"
    WHERE ${IS_FREE} AND "nextAttemptAt" ${comparison} AND ${LANE} = lanes.lane
    ORDER BY "nextAttemptAt" LIMIT 1
  ) AS first
)`;

/** A claim that this process holds. */
export type Lease = { id: string; leaseToken: number };

/**
 * Makes a delivery due now, whatever its state, with the whole retry schedule before it. Afterwards publish
 * `topics.deliveriesDue`.
 *
 * @returns `running` when a worker is sending it this moment: its result will come by itself.
 */
export async function requeue(db: Queryable, deliveryId: string): Promise<'queued' | 'running' | 'not_found'> {
  const { rowCount } = await db.query(
    `UPDATE "Delivery" SET
       "status" = 'PENDING', "trigger" = 'MANUAL', "reason" = NULL, "retryStep" = 0, "nextAttemptAt" = now(),
       "leasedUntil" = NULL, "completedAt" = NULL, "updatedAt" = now()
     WHERE "id" = $1 AND ("status" <> 'RUNNING' OR "leasedUntil" <= now())`,
    [deliveryId],
  );
  if (rowCount === 1) return 'queued';
  const found = await db.query('SELECT FROM "Delivery" WHERE "id" = $1', [deliveryId]);
  return found.rowCount === 0 ? 'not_found' : 'running';
}

const RELEASE_PORTION = 10_000;

/**
 * Makes the deliveries that a paused connector held back due now: a portion of them, since they may be many; what is left,
 * `releaseStranded` releases. Call it when the pause has been lifted, then publish `topics.deliveriesDue`.
 *
 * @returns how many are due now.
 */
export async function releaseHeld(db: Queryable, connectorId: string): Promise<number> {
  const { rowCount } = await db.query(
    `UPDATE "Delivery" SET "nextAttemptAt" = now(), "reason" = NULL, "updatedAt" = now()
     WHERE "id" = ANY(ARRAY(
       SELECT "id" FROM "Delivery" WHERE "connectorId" = $1 AND "outcome" IS NULL AND "nextAttemptAt" IS NULL
       LIMIT $2 FOR UPDATE SKIP LOCKED
     ))`,
    [connectorId, RELEASE_PORTION],
  );
  return rowCount ?? 0;
}

/**
 * Makes held deliveries due whose connector is no longer paused: those that were held while the pause was being lifted,
 * and those of a connector that was disabled meanwhile. A portion of them, since they may be many.
 */
export async function releaseStranded(db: Queryable): Promise<number> {
  const { rowCount } = await db.query(
    `UPDATE "Delivery" SET "nextAttemptAt" = now(), "reason" = NULL, "updatedAt" = now()
     WHERE "id" = ANY(ARRAY(
       SELECT d."id" FROM "Delivery" d JOIN "Connector" c ON c."id" = d."connectorId"
       WHERE d."outcome" IS NULL AND d."nextAttemptAt" IS NULL AND (c."pausedAt" IS NULL OR NOT c."isActive")
       LIMIT $1 FOR UPDATE OF d SKIP LOCKED
     ))`,
    [RELEASE_PORTION],
  );
  return rowCount ?? 0;
}

/** Of leases, the ids of those that are still ours. A locked one (its project may be being deleted) keeps no other waiting. */
const OURS = `ARRAY(
  SELECT d."id" FROM unnest($1::text[], $2::int[]) AS lease(id, token) JOIN "Delivery" d ON d."id" = lease.id
  WHERE d."leaseToken" = lease.token AND ${IS_RUNNING}
  FOR NO KEY UPDATE OF d SKIP LOCKED
)`;

/**
 * Prolongs leases that are still ours.
 *
 * @returns the ids of those that were prolonged: neither lost nor locked.
 */
export async function extendLeases(
  db: Queryable,
  leases: readonly Lease[],
  leaseSeconds: number,
): Promise<ReadonlySet<string>> {
  const { rows } = await db.query<{ id: string }>(
    `UPDATE "Delivery" SET "leasedUntil" = now() + make_interval(secs => $3)
     WHERE "id" = ANY(${OURS}) RETURNING "id"`,
    [...columnsOf(leases), leaseSeconds],
  );
  return new Set(rows.map(({ id }) => id));
}

/**
 * Gives back leases without a result: the deliveries are due at once, for any worker.
 *
 * @param errorClass what to remember of it; null when nothing had been sent.
 */
export async function releaseLeases(
  db: Queryable,
  leases: readonly Lease[],
  errorClass: 'interrupted' | null,
): Promise<void> {
  await db.query(
    `UPDATE "Delivery" SET
       "status" = 'PENDING', "nextAttemptAt" = now(), "leasedUntil" = NULL, "updatedAt" = now(),
       "errorClass" = coalesce($3, "errorClass")
     WHERE "id" = ANY(${OURS})`,
    [...columnsOf(leases), errorClass],
  );
}

export type QueueStats = {
  /** Deliveries waiting, whether due or not. */
  pending: number;
  /** Deliveries in the hands of a process. */
  running: number;
  /** Age of the oldest delivery that is due and not taken; 0 when there is none. */
  oldestDueSeconds: number;
};

/** Both are counted among so many that are due first, half first tries, half retries: more would slow a long queue. */
export const QUEUE_COUNT_LIMIT = 100_000;

/** What the queue looks like, at a cost that is bounded however long it is. */
export async function readQueueStats(db: Queryable): Promise<QueueStats> {
  const { rows } = await db.query<QueueStats>(
    `SELECT
       count(*) FILTER (WHERE "status" = 'PENDING')::int AS "pending",
       count(*) FILTER (WHERE "status" = 'RUNNING')::int AS "running",
       coalesce(extract(epoch FROM now() - ${earliestDue('<= now()')})::float8, 0) AS "oldestDueSeconds"
     FROM (VALUES (0), (1)) AS lanes(lane) CROSS JOIN LATERAL (
       SELECT "status" FROM "Delivery" WHERE "outcome" IS NULL AND ${LANE} = lanes.lane
       ORDER BY "nextAttemptAt" LIMIT $1
     ) AS oldest`,
    [QUEUE_COUNT_LIMIT / 2],
  );
  return rows[0]!;
}

function columnsOf(leases: readonly Lease[]): [ids: string[], tokens: number[]] {
  return [leases.map(({ id }) => id), leases.map(({ leaseToken }) => leaseToken)];
}
