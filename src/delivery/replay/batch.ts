import type { Queryable } from '../../database/client.ts';
import { asReference } from '../../database/reference.ts';
import { runStatement, statement } from '../../database/statement.ts';
import type { VisibleProjectId } from '../../database/tenant-filter.ts';
import type { DeliveryStatus } from '../../generated/prisma/client.ts';
import { NOTE_INTERRUPTION } from '../queue/claim.ts';

/** The stored conditions that select a replay's deliveries. Omitted conditions don't apply. */
export type ReplayFilter = {
  status?: DeliveryStatus[];
  eventTypes?: string[];
  /** Created at or after this time, in ISO 8601. */
  from?: string;
  /** Created before this time, in ISO 8601. */
  to?: string;
  webhookId?: string;
  connectorId?: string;
  test?: boolean;
  deliveryIds?: string[];
};

export type ReplayJob = {
  id: string;
  projectId: string;
  filter: ReplayFilter;
  maxPerSecond: number;
  createdAt: Date;
  leaseToken: number;
};

/**
 * Deliveries that matched when the replay started and haven't changed since. (Deliveries don't change before they are
 * created, so the query can use the index on `createdAt`.) A claim doesn't change `updatedAt`, so deliveries that are
 * being sent are found and skipped.
 */
const MATCHES = `
  d."projectId" = $1 AND d."createdAt" <= $2 AND d."updatedAt" <= $2
  AND ($3::"DeliveryStatus"[] IS NULL OR d."status" = ANY ($3))
  AND ($10::boolean OR d."outcome" = ANY ($3))
  AND ($4::text[] IS NULL OR d."eventType" = ANY ($4))
  AND ($5::timestamptz IS NULL OR d."createdAt" >= $5 AND d."updatedAt" >= $5)
  AND ($6::timestamptz IS NULL OR d."createdAt" < $6)
  AND ($7::text IS NULL OR d."webhookId" = $7)
  AND ($8::text IS NULL OR d."connectorId" = $8)
  AND ($9::boolean IS NULL OR (SELECT e."test" FROM "Event" e WHERE e."id" = d."eventId") = $9)
  AND ($11::text[] IS NULL OR d."id" = ANY ($11))`;

function filterValues({ projectId, filter, createdAt }: Pick<ReplayJob, 'projectId' | 'filter' | 'createdAt'>) {
  const { status, eventTypes, from, to, webhookId, connectorId, test, deliveryIds } = filter;
  // A worker may claim a waiting delivery at any moment.
  const states: DeliveryStatus[] | undefined = status?.includes('PENDING') ? [...status, 'RUNNING'] : status;
  return [
    projectId,
    createdAt,
    states ?? null,
    eventTypes ?? null,
    from ?? null,
    to ?? null,
    webhookId ?? null,
    connectorId ?? null,
    test ?? null,
    // If false, the index of finished deliveries can be used.
    !states || states.includes('PENDING'),
    deliveryIds ?? null,
  ] as const;
}

/**
 * The number of deliveries that a replay would resend if it started at `createdAt`.
 *
 * @param limit where to stop counting. A running replay raises its total if it finds more.
 */
export async function countReplay(
  db: Queryable,
  job: Pick<ReplayJob, 'filter' | 'createdAt'> & { projectId: VisibleProjectId },
  limit?: number,
): Promise<number> {
  const { rows } = await runStatement<{ total: number }>(db, COUNT(...filterValues(job), limit ?? null));
  return rows[0]!.total;
}

/**
 * Takes a replay's next deliveries, makes them due, and moves its cursor past them. This is one statement, so a killed
 * process never leaves it half done.
 */
const BATCH = statement(
  'replay-batch',
  `
  WITH job AS (
    SELECT "id", "cursor" FROM "Replay" WHERE "id" = $12 AND "status" = 'RUNNING' AND "leaseToken" = $13 FOR UPDATE
  ),
  found AS MATERIALIZED (
    SELECT d."id" FROM job, "Delivery" d WHERE d."id" > job."cursor" AND ${MATCHES} ORDER BY d."id" LIMIT $14
  ),
  requeued AS (
    UPDATE "Delivery" d SET
      "status" = 'PENDING', "trigger" = 'MANUAL', "reason" = NULL, "retryStep" = 0, "nextAttemptAt" = now(),
      "isParked" = false, "isReplay" = true, "leasedUntil" = NULL, "completedAt" = NULL, "updatedAt" = now(),
      ${NOTE_INTERRUPTION}
    WHERE d."id" = ANY (ARRAY(SELECT "id" FROM found)) AND d."updatedAt" <= $2
      AND (d."status"::text <> 'RUNNING' OR d."leasedUntil" <= now())
    RETURNING d."id"
  ),
  step AS (
    SELECT (SELECT count(*)::int FROM found) AS found, (SELECT count(*)::int FROM requeued) AS requeued,
           (SELECT max("id") FROM found) AS last
  )
  UPDATE "Replay" r SET
    "cursor" = coalesce(step.last, r."cursor"),
    "done" = r."done" + step.requeued,
    "skipped" = CASE WHEN step.found < $14 THEN greatest(r."total" - r."done" - step.requeued, r."skipped" + step.found - step.requeued)
                     ELSE r."skipped" + step.found - step.requeued END,
    "total" = greatest(r."total", r."done" + r."skipped" + step.found),
    "status" = CASE WHEN step.found < $14 THEN 'COMPLETED'::"ReplayStatus" ELSE r."status" END,
    "finishedAt" = CASE WHEN step.found < $14 THEN now() END,
    "leasedUntil" = now() + make_interval(secs => $15),
    "updatedAt" = now()
  FROM job, step WHERE r."id" = job."id"
  RETURNING step.requeued AS "requeued", r."status"::text AS "status"`,
);

/** @returns undefined if the replay was canceled, has finished, or was taken by another process. */
export async function replayBatch(
  db: Queryable,
  job: ReplayJob,
  { size, leaseSeconds }: { size: number; leaseSeconds: number },
): Promise<{ requeued: number; status: string } | undefined> {
  // Not a named statement: the best index depends on the filter.
  const { rows } = await runStatement<{ requeued: number; status: string }>(
    db,
    BATCH(...filterValues(job), job.id, job.leaseToken, size, leaseSeconds),
  );
  return rows[0];
}

/**
 * Running replays that no process has claimed, in the order that they get a turn: accounts with the fewest replays in
 * progress come first, then the account that has waited longest. That way, an account with many replays never holds up
 * other accounts.
 */
const CLAIM = statement(
  'replay-claim',
  `
  WITH running AS (
    SELECT r."id", p."userId" AS account, r."leasedUntil", coalesce(r."leasedUntil" > now(), false) AS "isLeased"
    FROM "Replay" r JOIN "Project" p ON p."id" = r."projectId" WHERE r."status" = 'RUNNING'
  ),
  accounts AS (
    SELECT
      running.account, count(*) FILTER (WHERE "isLeased") AS leased,
      greatest(
        max(CASE WHEN "isLeased" THEN now() ELSE running."leasedUntil" END), max(recent."lastRunAt")
      ) AS "lastRunAt"
    FROM running LEFT JOIN (
      -- An account whose replays end within one turn doesn't get more turns.
      SELECT p."userId" AS account, max(r."updatedAt") AS "lastRunAt"
      FROM "Project" p JOIN "Replay" r ON r."projectId" = ${asReference('p."id"')}
      WHERE p."userId" IN (SELECT account FROM running) AND r."status" <> 'RUNNING' AND r."leasedUntil" IS NOT NULL
        AND r."updatedAt" > now() - interval '1 minute'
      GROUP BY p."userId"
    ) AS recent USING (account)
    GROUP BY running.account
  ),
  -- Includes replays for other processes that claim at the same time.
  ranked AS MATERIALIZED (
    SELECT
      "id", "lastRunAt",
      leased + row_number() OVER (PARTITION BY account ORDER BY "leasedUntil" NULLS FIRST, "id") AS position
    FROM running JOIN accounts USING (account) WHERE NOT "isLeased"
    ORDER BY position, "lastRunAt" NULLS FIRST, "id" LIMIT $1 * 8
  )
  UPDATE "Replay" SET "leasedUntil" = now() + make_interval(secs => $2), "leaseToken" = "leaseToken" + 1
  WHERE "id" = ANY (ARRAY(
    SELECT r."id" FROM "Replay" r JOIN ranked USING ("id")
    WHERE r."status" = 'RUNNING' AND (r."leasedUntil" IS NULL OR r."leasedUntil" <= now())
    ORDER BY position, "lastRunAt" NULLS FIRST, "id" LIMIT $1 FOR UPDATE OF r SKIP LOCKED
  ))
  RETURNING "id", "projectId", "filter", "maxPerSecond", "createdAt", "leaseToken"`,
);

/**
 * Claims replays that no process is running: new ones, those left behind by a stopped process, and those that have had
 * their turn. Uses the database's time.
 */
export async function claimReplays(
  db: Queryable,
  { limit, leaseSeconds }: { limit: number; leaseSeconds: number },
): Promise<ReplayJob[]> {
  const { rows } = await runStatement<ReplayJob>(db, CLAIM(limit, leaseSeconds));
  return rows;
}

const RENEW = statement(
  'replay-renew',
  `UPDATE "Replay" SET "leasedUntil" = now() + make_interval(secs => $3)
     WHERE "id" = $1 AND "leaseToken" = $2 AND "status" = 'RUNNING'`,
);

/** Extends a waiting replay's lease. @returns whether the replay is still ours. */
export async function renewReplay(
  db: Queryable,
  { id, leaseToken }: ReplayJob,
  leaseSeconds: number,
): Promise<boolean> {
  const { rowCount } = await runStatement(db, RENEW(id, leaseToken, leaseSeconds));
  return rowCount === 1;
}

const GIVE_BACK = statement(
  'replay-give-back',
  `UPDATE "Replay" SET "leasedUntil" = now() WHERE "id" = $1 AND "leaseToken" = $2`,
);

/** Releases an unfinished replay so that other replays get a turn. */
export async function giveBackReplay(db: Queryable, { id, leaseToken }: ReplayJob): Promise<void> {
  await runStatement(db, GIVE_BACK(id, leaseToken));
}

const COUNT_WAITING = statement(
  'replay-count-waiting',
  `SELECT count(*)::int AS "waiting" FROM (
       SELECT FROM "Delivery" WHERE "outcome" IS NULL AND "status" = 'PENDING' AND "nextAttemptAt" <= now()
         AND "projectId" = $1 AND "trigger" = 'MANUAL' LIMIT $2
     ) AS counted`,
);

/** How many of a project's manual deliveries are due and unclaimed, counted up to `limit`. */
export async function countWaiting(db: Queryable, projectId: string, limit: number): Promise<number> {
  const { rows } = await runStatement<{ waiting: number }>(db, COUNT_WAITING(projectId, limit));
  return rows[0]!.waiting;
}

const COUNT = statement(
  'replay-count',
  `SELECT count(*)::int AS "total" FROM (SELECT FROM "Delivery" d WHERE ${MATCHES} LIMIT $12) AS counted`,
);
