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
import { createParkedTurns, type Parked } from './parked-turns.ts';

const parkFirst = (order: string) => `
  UPDATE "Delivery" SET "isParked" = true WHERE "id" = ANY(ARRAY(
    SELECT first."id" FROM (VALUES (0), (1)) AS classes(retry_class) CROSS JOIN LATERAL (
      SELECT "id" FROM "Delivery"
      WHERE ${IS_QUEUED} AND ${RETRY_CLASS} = classes.retry_class AND "nextAttemptAt" <= ${DUE}
        AND "nextAttemptAt" >= ${markOf('classes.retry_class', '$3')} AND ${isOneOf('$1')}
      ORDER BY ${order} LIMIT $2
      FOR UPDATE SKIP LOCKED
    ) AS first
  ))`;

/**
 * Parks due deliveries of destinations without capacity. Parameters: $1 the destinations, $2 the maximum number of
 * deliveries per retry class, and $3 the time in milliseconds to start from in each retry class.
 */
const PARK_OLDEST = preparedStatement('delivery_park', parkFirst('"nextAttemptAt"'));

/** The same, but from the other end of the queue, where a newcomer's deliveries are. */
const PARK_NEWEST = preparedStatement('delivery_park_newest', parkFirst('"nextAttemptAt" DESC'));

const nextDestination = (after: string) => `
  SELECT ${DESTINATION} AS destination FROM "Delivery"
  WHERE "outcome" IS NULL AND "isParked" AND ${DESTINATION} > ${after}
  ORDER BY ${DESTINATION} LIMIT 1`;

/**
 * Visits the destinations in $18, then goes through the destinations with parked deliveries by index, and claims as many
 * deliveries as each has capacity for. Those that someone is waiting for go first, parked or not. The other parameters
 * are $16, the destination to continue after, and $17, the maximum number of destinations to go through. For
 * destinations with negative capacity, claims only manual deliveries, parked or not.
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
    SELECT visit.*, coalesce(capacity.slots, $5) AS slots FROM (
      SELECT destination, number - cardinality($18::text[]) AS position
      FROM unnest($18::text[]) WITH ORDINALITY AS turn(destination, number)
      UNION ALL SELECT destination, position FROM around
      WHERE destination IS NOT NULL AND destination <> ALL($18::text[])
    ) AS visit LEFT JOIN capacity USING (destination)
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
    SELECT count(*) >= $1 AS "isFull", coalesce(max(destination) FILTER (WHERE position > 0), $16::text) AS last
    FROM (SELECT destination FROM due UNION ALL SELECT destination FROM urgent) AS taken JOIN visited USING (destination)
  ),
  progress AS (
    SELECT count(destination) >= $17 AS "isCut", max(destination) AS last FROM around
  ),
  found AS (
    SELECT
      seen."isFull", seen."isFull" OR progress."isCut" AS "hasMore",
      CASE WHEN seen."isFull" THEN seen.last WHEN progress."isCut" THEN progress.last ELSE '' END AS "after",
      (
        SELECT coalesce(json_agg(json_build_object('destination', destination, 'account', account)), '[]')
        FROM visited LEFT JOIN place USING (destination)
        WHERE NOT EXISTS (
          SELECT FROM rest WHERE rest.destination = visited.destination AND $6 >= rest.slots
            AND rest.slots > (SELECT count(*) FROM due WHERE due.destination = rest.destination)
        ) OR EXISTS (SELECT FROM ranked WHERE ranked.destination = visited.destination AND NOT (${IS_WITHIN_SHARES}))
          OR (seen."isFull" AND (destination >= seen.last OR position <= 0))
      ) AS "waiting"
    FROM seen, progress
  )`),
);

type FoundParked = {
  /** Whether the claim took as many deliveries as it may, so that it may not have reached all destinations. */
  isFull: boolean;
  hasMore: boolean;
  /** The destination to continue after; '' after the last one. */
  after: string;
  /** Visited destinations that may have more parked deliveries. */
  waiting: Parked[];
};

export type ParkedResult = ClaimResult & FoundParked;

const MAX_DESTINATIONS_A_CLAIM = 256;
const MAX_TURNS_A_CLAIM = 64;
const MAX_PARKED_A_BATCH = 1_000;
/** How often to look for parked deliveries that another process has left behind. */
const VISIT_EVERY_MILLISECONDS = 1_000;

/**
 * Takes parked deliveries of destinations that have capacity now, like `claimDue`.
 *
 * @param after the destination to continue after; '' starts at the beginning.
 * @param turns destinations to visit before that.
 */
export async function claimParked(
  db: Queryable,
  request: ClaimRequest,
  after: string,
  turns: readonly string[] = [],
): Promise<ParkedResult> {
  const claim = CLAIM_PARKED(...requestValues(request), after, MAX_DESTINATIONS_A_CLAIM, turns);
  const { found, ...result } = await runClaim<FoundParked>(db, claim);
  return { ...found, ...result };
}

/**
 * Parks one batch of the due deliveries of destinations without capacity.
 *
 * @param first which deliveries to park first.
 * @returns whether there may be more to park.
 */
export async function park(
  db: Queryable,
  destinations: readonly string[],
  marks: readonly number[],
  first: 'oldest' | 'newest' = 'oldest',
): Promise<boolean> {
  const statement = first === 'oldest' ? PARK_OLDEST : PARK_NEWEST;
  const { rowCount } = await runStatement(db, statement(destinations, MAX_PARKED_A_BATCH, marks));
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
  const turns = createParkedTurns();
  /** Whether the next claim only continues the round, because the last one didn't get to that. */
  let isBehind = false;
  /** What the current round has found so far, and where it continues. */
  let found = new Set<string>();
  let after = '';
  let visitedAt = Number.NEGATIVE_INFINITY;
  /** The destinations that had no due deliveries left in the queue after the last round of parking. */
  let cleared: ReadonlySet<string> = destinations;
  let nextToPark: 'oldest' | 'newest' = 'oldest';

  return {
    destinations: (): string[] => [...destinations],

    add(parked: readonly Parked[]): void {
      if (parked.length === 0) return;
      const ids = parked.map(({ destination }) => destination);
      destinations = new Set([...destinations, ...ids]);
      for (const id of ids) found.add(id);
      turns.add(parked);
    },

    /**
     * Parks a batch of the due deliveries to these destinations. If there is more than one batch, the oldest and the
     * newest take turns, so that nobody's few new deliveries wait until another account's backlog is parked.
     */
    async park(marks: readonly number[]): Promise<void> {
      if (destinations.size === 0) return;
      const parked = destinations;
      const hasMore = await park(db, [...parked], marks, nextToPark);
      cleared = hasMore ? new Set() : parked;
      nextToPark = hasMore && nextToPark === 'oldest' ? 'newest' : 'oldest';
    },

    /** Whether all due deliveries to these destinations are parked. If so, claims have nothing to pass over. */
    isDone: (): boolean => [...destinations].every((id) => cleared.has(id)),

    isToBeVisited: (): boolean => destinations.size > 0 || now() - visitedAt > VISIT_EVERY_MILLISECONDS,

    /** Claims parked deliveries that have capacity: in turn, and continuing where the last claim stopped. */
    async claim(request: ClaimRequest): Promise<ParkedResult> {
      visitedAt = now();
      const visits = isBehind ? [] : turns.next(request, MAX_TURNS_A_CLAIM);
      const result = await claimParked(db, request, after, visits);
      isBehind = visits.length > 0 && result.isFull;
      for (const { destination } of result.waiting) found.add(destination);
      turns.add(result.waiting);
      after = result.after;
      if (after === '') {
        destinations = found;
        found = new Set();
        turns.keep(destinations);
      } else {
        destinations = new Set([...destinations, ...found]);
      }
      return result;
    },
  };
}
