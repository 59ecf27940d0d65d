import { ORDERING_COLUMNS } from '../flow/ordering.ts';
import {
  DESTINATION,
  IS_WITHIN_SHARES,
  META_TIMES,
  markOf,
  oldestOf,
  placesOf,
  positionsOf,
  ROOM,
  TAKE,
  TURN,
} from './claim-parts.ts';
import { IS_QUEUED, LANE } from './queue.ts';

/** The deliveries in the queue from the lane's low-water mark onward, except deliveries to the destinations in $16. */
const queuedIn = (lane: string) => `
  ${IS_QUEUED} AND ${LANE} = ${lane} AND "nextAttemptAt" >= ${markOf(lane, '$17')} AND ${DESTINATION} <> ALL($16::text[])`;

/** If fewer than one in this many due deliveries has room, those without room are blocking the rest. */
const MUCH_LEFT_OUT = 8;

/**
 * Claims the oldest due deliveries in the queue, alternating between first attempts and retries. Also takes $16, the
 * destinations to pass over, and $17, the time in milliseconds to start from in each lane.
 *
 * `leftOut` lists the destinations without room whose deliveries block others and should be parked. `lowestDue` is
 * the earliest due time found in each lane.
 */
export const CLAIM_DUE = `
  WITH ${ROOM},
  due AS (
    SELECT oldest.*, ${TURN} AS turn FROM (VALUES (0, $1::int), (1, least($1::int, $6::int))) AS queue(number, most)
    CROSS JOIN LATERAL (${oldestOf(queuedIn('queue.number'), 'queue.most')}) AS oldest
  ),
  place AS (${placesOf('SELECT DISTINCT destination FROM due')}),
  ranked AS (
    SELECT *, row_number() OVER (PARTITION BY destination ORDER BY "isUrgent" DESC, turn, lane) AS position
    FROM (${positionsOf('SELECT * FROM due')}) AS placed
  ),
  judged AS (
    SELECT ranked.*, coalesce(room.slots, $5) AS slots,
      position <= coalesce(room.slots, $5) AND ${IS_WITHIN_SHARES} AS "hasRoom"
    FROM ranked LEFT JOIN room USING (destination)
  ),
  picked AS (
    SELECT ${ORDERING_COLUMNS} FROM judged WHERE "hasRoom" ORDER BY turn, lane LIMIT $1
  ),
  meta AS (
    SELECT
      seen.due >= $1 OR seen.picked < seen.due AS "hasMore",
      ARRAY(
        SELECT DISTINCT destination FROM judged
        WHERE NOT "hasRoom" AND (slots < 0 OR seen.picked * ${MUCH_LEFT_OUT} < seen.due)
      ) AS "leftOut",
      ARRAY(
        SELECT extract(epoch FROM min(due."nextAttemptAt"))::float8 * 1000
        FROM (VALUES (0), (1)) AS lanes(lane) LEFT JOIN due USING (lane) GROUP BY lane ORDER BY lane
      ) AS "lowestDue",
      '' AS "after", '{}'::text[] AS "waiting", ${META_TIMES}
    FROM (SELECT (SELECT count(*) FROM due) AS due, (SELECT count(*) FROM picked) AS picked) AS seen
  ),
  ${TAKE}`;
