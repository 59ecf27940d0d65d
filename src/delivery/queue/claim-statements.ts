import { ORDERING_COLUMNS, WAITING } from '../flow/ordering.ts';
import { earliestDue, IS_FREE, IS_QUEUED, IS_URGENT, LANE } from './queue.ts';

/**
 * The statements of a claim. Both take these parameters: $1 the maximum number of deliveries, $2 the lease in seconds,
 * $3 and $4 the destinations with known room and that room, $5 the room of all other destinations, $6 the maximum
 * number of retries. $7, $8, and $9 are like $3, $4, and $5, but for accounts, and $10, $11, and $12 are for origins.
 */

// The same expression as in the indexes "Delivery_parked" and "Delivery_by_hand".
const DESTINATION = `coalesce("webhookId", "connectorId")`;

// Stored times are rounded to milliseconds, so a delivery that was just made due may be slightly in the future.
const DUE = `now() + interval '1 millisecond'`;

/** The room for each destination, account, and origin, as tables. */
const ROOM = `
  room AS (SELECT * FROM unnest($3::text[], $4::int[]) AS room(destination, slots)),
  account_room AS (SELECT * FROM unnest($7::text[], $8::int[]) AS room(account, slots)),
  origin_room AS (SELECT * FROM unnest($10::text[], $11::int[]) AS room(origin, slots))`;

/**
 * Each destination's account and origin, with the room for both. A connector is its own origin. Destinations are looked
 * up one by one, because a planner that expects many of them would read whole tables.
 */
const placesOf = (destinations: string) => `
  SELECT
    d.destination, owner.account, site.origin,
    coalesce(account_room.slots, $9::int) AS account_slots, coalesce(origin_room.slots, $12::int) AS origin_slots
  FROM (${destinations}) AS d
  CROSS JOIN LATERAL (
    SELECT "projectId", coalesce("origin", "id") AS origin FROM "Webhook" WHERE "id" = d.destination
    UNION ALL SELECT "projectId", "id" FROM "Connector" WHERE "id" = d.destination
    LIMIT 1
  ) AS site
  CROSS JOIN LATERAL (SELECT "userId" AS account FROM "Project" WHERE "id" = site."projectId" LIMIT 1) AS owner
  LEFT JOIN account_room USING (account) LEFT JOIN origin_room USING (origin)`;

/** A delivery's position within its account and its origin. Destinations take turns, in random order. */
const POSITIONS = `
  row_number() OVER (PARTITION BY account ORDER BY turn, random()) AS of_account,
  row_number() OVER (PARTITION BY origin ORDER BY turn, random()) AS of_origin`;

const IS_WITHIN_SHARES = `of_account <= account_slots AND of_origin <= origin_slots`;

/** The claimed deliveries' webhooks or connectors. */
const destinationsOf = (table: string, reference: string, columns: string) => `
  SELECT coalesce(json_agg(row_to_json(destination)), '[]') FROM (
    SELECT
      s."id", p."name" AS "projectName", p."userId" AS "account", s."isActive", s."failingSince" IS NOT NULL AS "isFailing",
      s."pausedAt" IS NOT NULL AS "isPaused", s."maxPerSecond",
      coalesce(extract(epoch FROM s."circuitOpenUntil" - now()), 0)::float8 AS "circuitOpenSeconds",
      ${columns}
    FROM ${table} s JOIN "Project" p ON p."id" = s."projectId"
    WHERE s."id" = ANY(ARRAY(SELECT DISTINCT ${reference} FROM claimed WHERE ${reference} IS NOT NULL))
  ) AS destination`;

const WEBHOOKS = destinationsOf(
  '"Webhook"',
  '"webhookId"',
  `s."url", coalesce(s."origin", s."id") AS "origin", s."payloadVersion", s."secret",
   CASE WHEN s."previousSecretExpiresAt" > now() THEN s."previousSecret" END AS "previousSecret"`,
);

const CONNECTORS = destinationsOf(
  '"Connector"',
  '"connectorId"',
  `s."type", s."id" AS "origin", s."secretConfig", s."eventTypes", s."memory"`,
);

/**
 * Claims the deliveries in `picked`, except those that have to wait, and reads everything needed to send them: one row
 * for the whole claim, then one for each delivery. Deliveries that are set aside took slots from other due deliveries,
 * so there may be more to claim. The IDs go through an array, and each event is looked up separately, because a planner
 * that doesn't know how few there are might read the whole table.
 */
const TAKE = `
  ${WAITING},
  claimed AS (
    UPDATE "Delivery" SET
      "status" = 'RUNNING',
      "leasedUntil" = now() + make_interval(secs => $2),
      "leaseToken" = "leaseToken" + 1,
      "errorClass" = CASE WHEN "status" = 'RUNNING' THEN 'interrupted' ELSE "errorClass" END
    WHERE "id" = ANY(ARRAY(SELECT "id" FROM picked EXCEPT ALL SELECT "id" FROM waiting))
    RETURNING *
  )
  SELECT
    NULL AS "id", NULL AS "projectId", NULL AS "destination", NULL AS "trigger", NULL AS "isUrgent", NULL AS "attemptCount", NULL AS "retryStep",
    NULL AS "leaseToken", NULL AS "errorClass", NULL AS "orderingKey", NULL AS "ageSeconds",
    NULL AS "eventId", NULL AS "type", NULL AS "version", NULL AS "test", NULL AS "timestamp", NULL AS "data",
    NULL AS "traceContext",
    json_build_object(
      'hasMore', meta."hasMore" OR EXISTS (SELECT FROM waiting WHERE "isSure"),
      'lowestDue', meta."lowestDue",
      'leftOut', meta."leftOut",
      'after', meta."after",
      'waiting', meta."waiting",
      'databaseTime', meta."databaseTime",
      'nextDueInMilliseconds', meta."nextDueInMilliseconds",
      'webhooks', (${WEBHOOKS}),
      'connectors', (${CONNECTORS})
    ) AS "meta"
  FROM meta
  UNION ALL
  SELECT
    d."id", d."projectId", coalesce(d."webhookId", d."connectorId"), d."trigger"::text, ${IS_URGENT}, d."attemptCount",
    d."retryStep", d."leaseToken", d."errorClass", d."orderingKey", extract(epoch FROM now() - d."createdAt")::float8,
    e."id", e."type", e."version", e."test", e."timestamp", e."data"::text,
    e."traceContext",
    NULL
  FROM claimed d CROSS JOIN LATERAL (SELECT * FROM "Event" WHERE "id" = d."eventId" LIMIT 1) AS e`;

const META_TIMES = `
  extract(epoch FROM now())::float8 * 1000 AS "databaseTime",
  extract(epoch FROM ${earliestDue(`> ${DUE}`)} - now())::float8 * 1000 AS "nextDueInMilliseconds"`;

/** Locks due deliveries, in the order they fell due. */
const oldestOf = (condition: string, most: string) => `
  SELECT
    ${ORDERING_COLUMNS}, ${DESTINATION} AS destination, "nextAttemptAt", ${LANE} AS lane, ${IS_URGENT} AS "isUrgent"
  FROM "Delivery"
  WHERE "nextAttemptAt" <= ${DUE} AND ${condition}
  ORDER BY "nextAttemptAt" LIMIT ${most}
  FOR UPDATE SKIP LOCKED`;

const TURN = `row_number() OVER (PARTITION BY lane ORDER BY "nextAttemptAt", "id")`;

/** Where to start in a lane. */
const markOf = (lane: string, marks: string) => `to_timestamp((${marks}::float8[])[${lane} + 1] / 1000)`;

/** The deliveries in the queue from the lane's low-water mark onward, except for those to the destinations in $13. */
const queuedIn = (lane: string) => `
  ${IS_QUEUED} AND ${LANE} = ${lane} AND "nextAttemptAt" >= ${markOf(lane, '$14')} AND ${DESTINATION} <> ALL($13::text[])`;

/** If fewer than one in this many due deliveries has room, those without room are in the way of other deliveries. */
const MUCH_LEFT_OUT = 8;

/**
 * Claims the oldest due deliveries in the queue, alternating between first attempts and retries. Also takes $13, the
 * destinations to pass over, and $14, the time in milliseconds to start from in each lane.
 *
 * `leftOut` lists the destinations without room whose deliveries are in the way and should be parked. `lowestDue` is
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
    SELECT *, row_number() OVER (PARTITION BY destination ORDER BY "isUrgent" DESC, turn, lane) AS position, ${POSITIONS}
    FROM due JOIN place USING (destination)
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

/**
 * Parks due deliveries of destinations without room. Parameters: $1 the destinations, $2 the maximum number of
 * deliveries per lane, and $3 the time in milliseconds to start from in each lane.
 */
export const PARK = `
  UPDATE "Delivery" SET "isParked" = true WHERE "id" = ANY(ARRAY(
    SELECT oldest."id" FROM (VALUES (0), (1)) AS lanes(lane) CROSS JOIN LATERAL (
      SELECT "id" FROM "Delivery"
      WHERE ${IS_QUEUED} AND ${LANE} = lanes.lane AND "nextAttemptAt" <= ${DUE}
        AND "nextAttemptAt" >= ${markOf('lanes.lane', '$3')} AND ${DESTINATION} = ANY($1::text[])
      ORDER BY "nextAttemptAt" LIMIT $2
      FOR UPDATE SKIP LOCKED
    ) AS oldest
  ))`;

const NEXT_DESTINATION = (after: string) => `
  SELECT ${DESTINATION} AS destination FROM "Delivery"
  WHERE "outcome" IS NULL AND "isParked" AND ${DESTINATION} > ${after}
  ORDER BY ${DESTINATION} LIMIT 1`;

/**
 * Goes through the destinations with parked deliveries by index, and claims as many deliveries as each has room for.
 * Those that someone is waiting for go first, parked or not. The other parameters are $13, the destination to continue
 * after, and $14, the maximum number of destinations to visit. For destinations with negative room, claims only manual
 * deliveries, parked or not.
 *
 * `waiting` lists the visited destinations that may have more parked deliveries.
 */
export const CLAIM_PARKED = `
  WITH RECURSIVE ${ROOM},
  around AS (
    (SELECT destination, 1 AS position FROM (${NEXT_DESTINATION('$13::text')}) AS first)
    UNION ALL
    SELECT (${NEXT_DESTINATION('around.destination')}), position + 1
    FROM around WHERE around.destination IS NOT NULL AND position < $14
  ),
  visited AS (
    SELECT around.*, coalesce(room.slots, $5) AS slots FROM around LEFT JOIN room USING (destination)
    WHERE destination IS NOT NULL
  ),
  manual AS (
    SELECT due.*, 0::bigint AS turn, 0::bigint AS retries FROM room CROSS JOIN LATERAL (
      ${oldestOf(`${IS_FREE} AND "trigger" = 'MANUAL' AND ${DESTINATION} = room.destination`, '-room.slots')}
    ) AS due
    WHERE room.slots < 0
  ),
  place AS (${placesOf('SELECT destination FROM visited WHERE slots > 0 UNION SELECT destination FROM manual')}),
  open AS (
    SELECT destination, position, greatest(least(slots, account_slots, origin_slots), 0) AS slots
    FROM visited JOIN place USING (destination) WHERE slots > 0
    ORDER BY position
  ),
  urgent AS (
    SELECT due.*, 0::bigint AS turn, 0::bigint AS retries FROM open CROSS JOIN LATERAL (
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
      SELECT oldest.*, ${TURN} AS turn
      FROM (VALUES (0, rest.slots), (1, least(rest.slots, $6::int))) AS queue(number, most) CROSS JOIN LATERAL (
        ${oldestOf(
          `${IS_FREE} AND "isParked" AND NOT (${IS_URGENT}) AND ${DESTINATION} = rest.destination AND ${LANE} = queue.number`,
          'queue.most',
        )}
      ) AS oldest
      ORDER BY turn, lane LIMIT rest.slots
    ) AS due
    LIMIT $1 - (SELECT count(*) FROM urgent)
  ),
  counted AS (
    SELECT due.*, sum(lane) OVER (ORDER BY destination, "id") AS retries FROM due
    UNION ALL SELECT * FROM manual UNION ALL SELECT * FROM urgent
  ),
  ranked AS (
    SELECT *, ${POSITIONS} FROM counted JOIN place USING (destination) WHERE lane = 0 OR retries <= $6
  ),
  picked AS (
    SELECT ${ORDERING_COLUMNS} FROM ranked WHERE ${IS_WITHIN_SHARES}
  ),
  seen AS (
    SELECT count(*) >= $1 AS "isFull", max(destination) AS last
    FROM (SELECT destination FROM due UNION ALL SELECT destination FROM urgent) AS found
  ),
  progress AS (
    SELECT count(destination) >= $14 AS "isCut", max(destination) AS last FROM around
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
        ) OR (seen."isFull" AND destination >= seen.last)
      ) AS "waiting",
      ${META_TIMES}
    FROM seen, progress
  ),
  ${TAKE}`;
