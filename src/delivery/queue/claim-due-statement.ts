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
import { IS_QUEUED, RETRY_CLASS } from './queue.ts';

/**
 * The deliveries in the queue from the retry class's low-water mark onward, except deliveries to the destinations in
 * $16.
 */
const queuedIn = (retryClass: string) => `
  ${IS_QUEUED} AND ${RETRY_CLASS} = ${retryClass} AND "nextAttemptAt" >= ${markOf(retryClass, '$17')} AND ${DESTINATION} <> ALL($16::text[])`;

/** If fewer than one in this many due deliveries has capacity, those without capacity are blocking the rest. */
const MUCH_LEFT_OUT = 8;

/**
 * Claims the oldest due deliveries in the queue, alternating between first attempts and retries. Also takes $16, the
 * destinations to pass over, and $17, the time in milliseconds to start from in each retry class.
 *
 * `leftOut` lists the destinations without capacity whose deliveries block others and should be parked. `lowestDue` is
 * the earliest due time found in each retry class.
 */
export const CLAIM_DUE = `
  WITH ${CAPACITY},
  due AS (
    SELECT oldest.*, ${DUE_RANK} AS due_rank FROM (VALUES (0, $1::int), (1, least($1::int, $6::int))) AS queue(number, most)
    CROSS JOIN LATERAL (${oldestOf(queuedIn('queue.number'), 'queue.most')}) AS oldest
  ),
  place AS (${placesOf('SELECT DISTINCT destination FROM due')}),
  ranked AS (
    SELECT *, row_number() OVER (PARTITION BY destination ORDER BY "isUrgent" DESC, due_rank, retry_class) AS position
    FROM (${positionsOf('SELECT * FROM due')}) AS placed
  ),
  judged AS (
    SELECT ranked.*, coalesce(capacity.slots, $5) AS slots,
      position <= coalesce(capacity.slots, $5) AND ${IS_WITHIN_SHARES} AS "hasCapacity"
    FROM ranked LEFT JOIN capacity USING (destination)
  ),
  picked AS (
    SELECT ${ORDERING_COLUMNS} FROM judged WHERE "hasCapacity" ORDER BY due_rank, retry_class LIMIT $1
  ),
  meta AS (
    SELECT
      seen.due >= $1 OR seen.picked < seen.due AS "hasMore",
      ARRAY(
        SELECT DISTINCT destination FROM judged
        WHERE NOT "hasCapacity" AND (slots < 0 OR seen.picked * ${MUCH_LEFT_OUT} < seen.due)
      ) AS "leftOut",
      ARRAY(
        SELECT extract(epoch FROM min(due."nextAttemptAt"))::float8 * 1000
        FROM (VALUES (0), (1)) AS classes(retry_class) LEFT JOIN due USING (retry_class) GROUP BY retry_class ORDER BY retry_class
      ) AS "lowestDue",
      '' AS "after", '{}'::text[] AS "waiting", ${META_TIMES}
    FROM (SELECT (SELECT count(*) FROM due) AS due, (SELECT count(*) FROM picked) AS picked) AS seen
  ),
  ${TAKE}`;
