import type { Queryable } from '../../database/client.ts';
import { runStatement, statement } from '../../database/statement.ts';
import { earliestDue, NOTE_INTERRUPTION } from './claim.ts';

/**
 * Use this for rows that are looked up by ID. Without the cast, the planner expects only a few running rows and reads
 * them all.
 */
export const IS_RUNNING = `d."status"::text = 'RUNNING'`;

/** This process's right to send a delivery until the lease expires. */
export type Lease = { id: string; leaseToken: number };

const REQUEUE = statement(
  'delivery_requeue',
  `UPDATE "Delivery" SET
       "status" = 'PENDING', "trigger" = 'MANUAL', "reason" = NULL, "retryStep" = 0, "nextAttemptAt" = now(),
       "isParked" = false, "isReplay" = false, "leasedUntil" = NULL, "completedAt" = NULL, "updatedAt" = now(),
       ${NOTE_INTERRUPTION}
     WHERE "id" = $1 AND ("status" <> 'RUNNING' OR "leasedUntil" <= now())`,
);

const FIND = statement('delivery_find', 'SELECT FROM "Delivery" WHERE "id" = $1');

/**
 * Makes a delivery due now, in any status, with the full retry schedule. Publish `topics.deliveriesDue` afterward.
 *
 * @returns `running` if a worker is sending it right now.
 */
export async function requeue(db: Queryable, deliveryId: string): Promise<'queued' | 'running' | 'not_found'> {
  const { rowCount } = await runStatement(db, REQUEUE(deliveryId));
  if (rowCount === 1) return 'queued';
  const found = await runStatement(db, FIND(deliveryId));
  return found.rowCount === 0 ? 'not_found' : 'running';
}

/**
 * The IDs of the leases that are still ours. Locked rows are skipped, because their project is probably being deleted.
 */
const OURS = `ARRAY(
  SELECT d."id" FROM unnest($1::text[], $2::int[]) AS lease(id, token) JOIN "Delivery" d ON d."id" = lease.id
  WHERE d."leaseToken" = lease.token AND ${IS_RUNNING}
  FOR NO KEY UPDATE OF d SKIP LOCKED
)`;

/**
 * Extends leases that are still ours.
 *
 * @returns the IDs of the extended leases, excluding any that were lost or locked.
 */
export async function extendLeases(
  db: Queryable,
  leases: readonly Lease[],
  leaseSeconds: number,
): Promise<ReadonlySet<string>> {
  const { rows } = await runStatement<{ id: string }>(db, EXTEND(...columnsOf(leases), leaseSeconds));
  return new Set(rows.map(({ id }) => id));
}

/**
 * Releases leases without a result. The deliveries are due immediately, for any worker.
 *
 * @param errorClass the error to store; null if nothing was sent.
 */
export async function releaseLeases(
  db: Queryable,
  leases: readonly Lease[],
  errorClass: 'interrupted' | null,
): Promise<void> {
  await runStatement(db, RELEASE(...columnsOf(leases), errorClass));
}

export type QueueStats = {
  /** Waiting deliveries, due or not. */
  pending: number;
  /** Deliveries held by a process. */
  running: number;
  /**
   * Age of the oldest due delivery in the queue, or 0 if nothing is due. Deliveries waiting for capacity don't count.
   */
  oldestDueSeconds: number;
};

/** The maximum number of rows to count, half in the queue and half parked. In a long queue, counting more is slow. */
export const QUEUE_COUNT_LIMIT = 100_000;

/** Queue statistics, at a limited cost no matter how long the queue is. */
export async function readQueueStats(db: Queryable): Promise<QueueStats> {
  const { rows } = await runStatement<QueueStats>(db, READ_STATS(QUEUE_COUNT_LIMIT / 2));
  return rows[0]!;
}

function columnsOf(leases: readonly Lease[]): [ids: string[], tokens: number[]] {
  return [leases.map(({ id }) => id), leases.map(({ leaseToken }) => leaseToken)];
}

const EXTEND = statement(
  'delivery_extend',
  `UPDATE "Delivery" SET "leasedUntil" = now() + make_interval(secs => $3)
     WHERE "id" = ANY(${OURS}) RETURNING "id"`,
);

const RELEASE = statement(
  'delivery_release',
  `UPDATE "Delivery" SET
       "status" = 'PENDING', "nextAttemptAt" = now(), "isParked" = false, "leasedUntil" = NULL, "updatedAt" = now(),
       "errorClass" = coalesce($3, "errorClass")
     WHERE "id" = ANY(${OURS})`,
);

const READ_STATS = statement(
  'delivery_queue_stats',
  `SELECT
       count(*) FILTER (WHERE "status" = 'PENDING')::int AS "pending",
       count(*) FILTER (WHERE "status" = 'RUNNING')::int AS "running",
       coalesce(extract(epoch FROM now() - ${earliestDue('<= now()')})::float8, 0) AS "oldestDueSeconds"
     FROM (
       (SELECT "status" FROM "Delivery" WHERE "outcome" IS NULL AND NOT "isParked" LIMIT $1)
       UNION ALL (SELECT "status" FROM "Delivery" WHERE "outcome" IS NULL AND "isParked" LIMIT $1)
     ) AS unfinished`,
);
