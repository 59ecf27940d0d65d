import { DUE } from '../../database/due.ts';
import { ORDERING_COLUMNS } from '../flow/ordering.ts';
import {
  CAPACITY,
  DESTINATION,
  DUE_RANK,
  IS_WITHIN_SHARES,
  META_TIMES,
  markOf,
  oldestOf,
  placesOf,
  positionsOf,
  TAKE,
} from './claim-parts.ts';
import { IS_FREE, IS_QUEUED, IS_URGENT, RETRY_CLASS } from './queue.ts';

/**
 * Parks due deliveries of destinations without capacity. Parameters: $1 the destinations, $2 the maximum number of
 * deliveries per retry class, and $3 the time in milliseconds to start from in each retry class.
 */
export const PARK = `
  UPDATE "Delivery" SET "isParked" = true WHERE "id" = ANY(ARRAY(
    SELECT oldest."id" FROM (VALUES (0), (1)) AS classes(retry_class) CROSS JOIN LATERAL (
      SELECT "id" FROM "Delivery"
      WHERE ${IS_QUEUED} AND ${RETRY_CLASS} = classes.retry_class AND "nextAttemptAt" <= ${DUE}
        AND "nextAttemptAt" >= ${markOf('classes.retry_class', '$3')} AND ${DESTINATION} = ANY($1::text[])
      ORDER BY "nextAttemptAt" LIMIT $2
      FOR UPDATE SKIP LOCKED
    ) AS oldest
  ))`;

const NEXT_DESTINATION = (after: string) => `
  SELECT ${DESTINATION} AS destination FROM "Delivery"
  WHERE "outcome" IS NULL AND "isParked" AND ${DESTINATION} > ${after}
  ORDER BY ${DESTINATION} LIMIT 1`;

/**
 * Goes through the destinations with parked deliveries by index, and claims as many deliveries as each has capacity
 * for. Those that someone is waiting for go first, parked or not. The other parameters are $16, the destination to
 * continue after, and $17, the maximum number of destinations to visit. For destinations with negative capacity, claims
 * only manual deliveries, parked or not.
 *
 * `waiting` lists the visited destinations that may have more parked deliveries.
 */
export const CLAIM_PARKED = `
  WITH RECURSIVE ${CAPACITY},
  around AS (
    (SELECT destination, 1 AS position FROM (${NEXT_DESTINATION('$16::text')}) AS first)
    UNION ALL
    SELECT (${NEXT_DESTINATION('around.destination')}), position + 1
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
    SELECT ${ORDERING_COLUMNS} FROM ranked WHERE ${IS_WITHIN_SHARES}
  ),
  seen AS (
    SELECT count(*) >= $1 AS "isFull", max(destination) AS last
    FROM (SELECT destination FROM due UNION ALL SELECT destination FROM urgent) AS found
  ),
  progress AS (
    SELECT count(destination) >= $17 AS "isCut", max(destination) AS last FROM around
  ),
  meta AS (
    SELECT
      seen."isFull" OR progress."isCut" AS "hasMore",
      '{}'::text[] AS "leftOut", '{}'::float8[] AS "lowestDue",
      CASE WHEN seen."isFull" THEN seen.last WHEN progress."isCut" THEN progress.last ELSE '' END AS "after",
      ARRAY(
        SELECT destination FROM visited
        WHERE NOT EXISTS (
          SELECT FROM rest WHERE rest.destination = visited.destination AND $6 >= rest.slots
            AND rest.slots > (SELECT count(*) FROM due WHERE due.destination = rest.destination)
        ) OR EXISTS (SELECT FROM ranked WHERE ranked.destination = visited.destination AND NOT (${IS_WITHIN_SHARES}))
          OR (seen."isFull" AND destination >= seen.last)
      ) AS "waiting",
      ${META_TIMES}
    FROM seen, progress
  ),
  ${TAKE}`;
