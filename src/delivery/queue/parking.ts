import type { Queryable } from '../../database/client.ts';
import { DUE } from '../../database/due.ts';
import { preparedStatement, runStatement } from '../../database/statement.ts';
import {
  claimStatement,
  DESTINATION,
  DUE_RANK,
  IS_FREE,
  IS_QUEUED,
  IS_URGENT,
  IS_WITHIN_SHARES,
  isOneOf,
  markOf,
  oldestOf,
  placesOf,
  positionsOf,
  RETRY_CLASS,
} from './claim.ts';
import { type ClaimRequest, type ClaimResult, requestValues, runClaim } from './claim-result.ts';

/**
 * Parks due deliveries of destinations without capacity. Parameters: $1 the destinations, $2 the maximum number of
 * deliveries per retry class, and $3 the time in milliseconds to start from in each retry class.
 */
const PARK = preparedStatement(
  'delivery_park',
  `
  UPDATE "Delivery" SET "isParked" = true WHERE "id" = ANY(ARRAY(
    SELECT oldest."id" FROM (VALUES (0), (1)) AS classes(retry_class) CROSS JOIN LATERAL (
      SELECT "id" FROM "Delivery"
      WHERE ${IS_QUEUED} AND ${RETRY_CLASS} = classes.retry_class AND "nextAttemptAt" <= ${DUE}
        AND "nextAttemptAt" >= ${markOf('classes.retry_class', '$3')} AND ${isOneOf('$1')}
      ORDER BY "nextAttemptAt" LIMIT $2
      FOR UPDATE SKIP LOCKED
    ) AS oldest
  ))`,
);

const nextDestination = (after: string) => `
  SELECT ${DESTINATION} AS destination FROM "Delivery"
  WHERE "outcome" IS NULL AND "isParked" AND ${DESTINATION} > ${after}
  ORDER BY ${DESTINATION} LIMIT 1`;

/**
 * Goes through the destinations with parked deliveries by index, and claims as many deliveries as each has capacity
 * for. Those that someone is waiting for go first, parked or not. The other parameters are $16, the destination to
 * continue after, and $17, the maximum number of destinations to visit. For destinations with negative capacity, claims
 * only manual deliveries, parked or not.
 */
const CLAIM_PARKED = preparedStatement(
  'delivery_claim_parked',
  claimStatement(`
  around AS (
    (SELECT destination, 1 AS position FROM (${nextDestination('$16::text')}) AS first)
    UNION ALL
    SELECT (${nextDestination('around.destination')}), position + 1
    FROM around WHERE around.destination IS NOT NULL AND position < $17
  ),
  visited AS (
    SELECT around.*, coalesce(capacity.slots, $5) AS slots FROM around LEFT JOIN capacity USING (destination)
    WHERE destination IS NOT NULL
  ),
  manual AS (
    SELECT due.*, 0::bigint AS due_rank, 0::bigint AS retries FROM capacity CROSS JOIN LATERAL (
      ${oldestOf(`${IS_FREE} AND "trigger" = 'MANUAL' AND ${DESTINATION} = capacity.destination`, '-capacity.slots')}
    ) AS due
    WHERE capacity.slots < 0
  ),
  place AS (${placesOf('SELECT destination FROM visited WHERE slots > 0 UNION SELECT destination FROM manual')}),
  open AS (
    SELECT destination, position, greatest(least(slots, account_slots, origin_slots, share_slots), 0) AS slots
    FROM visited JOIN place USING (destination) WHERE slots > 0
    ORDER BY position
  ),
  urgent AS (
    SELECT due.*, 0::bigint AS due_rank, 0::bigint AS retries FROM open CROSS JOIN LATERAL (
      ${oldestOf(`${IS_FREE} AND ${IS_URGENT} AND ${DESTINATION} = open.destination`, 'open.slots')}
    ) AS due
    LIMIT $1
  ),
  rest AS (
    SELECT open.destination, open.slots - count(urgent."id") AS slots
    FROM open LEFT JOIN urgent USING (destination) GROUP BY open.destination, open.position, open.slots
    ORDER BY open.position
  ),
  due AS (
    SELECT due.* FROM rest CROSS JOIN LATERAL (
      SELECT oldest.*, ${DUE_RANK} AS due_rank
      FROM (VALUES (0, rest.slots), (1, least(rest.slots, $6::int))) AS queue(number, most) CROSS JOIN LATERAL (
        ${oldestOf(
          `${IS_FREE} AND "isParked" AND NOT (${IS_URGENT}) AND ${DESTINATION} = rest.destination AND ${RETRY_CLASS} = queue.number`,
          'queue.most',
        )}
      ) AS oldest
      ORDER BY due_rank, retry_class LIMIT rest.slots
    ) AS due
    LIMIT $1 - (SELECT count(*) FROM urgent)
  ),
  counted AS (
    SELECT due.*, sum(retry_class) OVER (ORDER BY destination, "id") AS retries FROM due
    UNION ALL SELECT * FROM manual UNION ALL SELECT * FROM urgent
  ),
  ranked AS (
    ${positionsOf('SELECT * FROM counted WHERE retry_class = 0 OR retries <= $6')}
  ),
  picked AS (
    SELECT "id", "webhookId", "eventId", "orderingKey" FROM ranked WHERE ${IS_WITHIN_SHARES}
  ),
  seen AS (
    SELECT count(*) >= $1 AS "isFull", max(destination) AS last
    FROM (SELECT destination FROM due UNION ALL SELECT destination FROM urgent) AS taken
  ),
  progress AS (
    SELECT count(destination) >= $17 AS "isCut", max(destination) AS last FROM around
  ),
  found AS (
    SELECT
      seen."isFull" OR progress."isCut" AS "hasMore",
      CASE WHEN seen."isFull" THEN seen.last WHEN progress."isCut" THEN progress.last ELSE '' END AS "after",
      ARRAY(
        SELECT destination FROM visited
        WHERE NOT EXISTS (
          SELECT FROM rest WHERE rest.destination = visited.destination AND $6 >= rest.slots
            AND rest.slots > (SELECT count(*) FROM due WHERE due.destination = rest.destination)
        ) OR EXISTS (SELECT FROM ranked WHERE ranked.destination = visited.destination AND NOT (${IS_WITHIN_SHARES}))
          OR (seen."isFull" AND destination >= seen.last)
      ) AS "waiting"
    FROM seen, progress
  )`),
);

type FoundParked = {
  hasMore: boolean;
  /** The destination to continue after; '' after the last one. */
  after: string;
  /** Visited destinations that may have more parked deliveries. */
  waiting: string[];
};

export type ParkedResult = ClaimResult & FoundParked;

const MAX_DESTINATIONS_A_CLAIM = 256;
const MAX_PARKED_A_BATCH = 1_000;
/** How often to look for parked deliveries that another process has left behind. */
const VISIT_EVERY_MILLISECONDS = 1_000;

/**
 * Takes parked deliveries of destinations that have capacity now, like `claimDue`.
 *
 * @param after the destination to continue after; '' starts at the beginning.
 */
export async function claimParked(db: Queryable, request: ClaimRequest, after: string): Promise<ParkedResult> {
  const claim = CLAIM_PARKED(...requestValues(request), after, MAX_DESTINATIONS_A_CLAIM);
  const { found, ...result } = await runClaim<FoundParked>(db, claim);
  return { ...found, ...result };
}

/**
 * Parks one batch of the due deliveries of destinations without capacity.
 *
 * @returns whether there may be more to park.
 */
export async function park(db: Queryable, destinations: readonly string[], marks: readonly number[]): Promise<boolean> {
  const { rowCount } = await runStatement(db, PARK(destinations, MAX_PARKED_A_BATCH, marks));
  return (rowCount ?? 0) >= MAX_PARKED_A_BATCH;
}

/**
 * The destinations that have parked deliveries, as far as this process knows. Parked deliveries are due deliveries
 * without capacity that were moved out of the queue, where they would be in the way. While a destination has any, its
 * other due deliveries are parked too, and all of them are claimed from there in order. The rows themselves are the
 * source of truth: any process finds them by index, so nothing is lost when a process dies.
 *
 * @param now returns the time of a monotonic clock, in milliseconds.
 */
export function createParking(db: Queryable, now: () => number = () => performance.now()) {
  let destinations: ReadonlySet<string> = new Set();
  /** What the current round has found so far, and where it continues. */
  let found = new Set<string>();
  let after = '';
  let visitedAt = Number.NEGATIVE_INFINITY;
  /** The destinations that had no due deliveries left in the queue after the last round of parking. */
  let cleared: ReadonlySet<string> = destinations;

  return {
    destinations: (): string[] => [...destinations],

    add(ids: readonly string[]): void {
      if (ids.length === 0) return;
      destinations = new Set([...destinations, ...ids]);
      for (const id of ids) found.add(id);
    },

    /** Parks a batch of the due deliveries to these destinations. */
    async park(marks: readonly number[]): Promise<void> {
      if (destinations.size === 0) return;
      const parked = destinations;
      const hasMore = await park(db, [...parked], marks);
      cleared = hasMore ? new Set() : parked;
    },

    /** Whether all due deliveries to these destinations are parked. If so, claims have nothing to pass over. */
    isDone: (): boolean => [...destinations].every((id) => cleared.has(id)),

    isToBeVisited: (): boolean => destinations.size > 0 || now() - visitedAt > VISIT_EVERY_MILLISECONDS,

    /** Claims parked deliveries that have capacity, continuing where the last claim stopped. */
    async claim(request: ClaimRequest): Promise<ParkedResult> {
      visitedAt = now();
      const result = await claimParked(db, request, after);
      for (const id of result.waiting) found.add(id);
      after = result.after;
      if (after === '') {
        destinations = found;
        found = new Set();
      } else {
        destinations = new Set([...destinations, ...found]);
      }
      return result;
    },
  };
}
