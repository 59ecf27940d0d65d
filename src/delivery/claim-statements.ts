import { ORDERING_COLUMNS, WAITING } from './ordering.ts';
import { earliestDue, IS_FREE, LANE } from './queue.ts';

/**
 * The statements of a claim. Parameters: $1 the most deliveries, $2 seconds of the lease, $3 and $4 the destinations whose
 * room is known and that room, $5 the room of the others, $6 the most that were tried before; around the destinations
 * also $7 the one to go on after and $8 the most to look at.
 */

// The same expression as in the index "Delivery_destination_due".
const DESTINATION = `coalesce("webhookId", "connectorId")`;

// Stored times are rounded to milliseconds, so what was made due this moment may lie a little ahead.
const DUE = `now() + interval '1 millisecond'`;

/** The room of each destination, as a table. */
const ROOM = `room AS (SELECT * FROM unnest($3::text[], $4::int[]) AS room(destination, slots))`;

/** What is true of a webhook or connector, whatever is sent to it. */
const subscribers = (table: string, reference: string, columns: string) => `
  SELECT coalesce(json_agg(row_to_json(subscriber)), '[]') FROM (
    SELECT
      s."id", s."projectId", p."name" AS "projectName", s."isActive", s."failingSince" IS NOT NULL AS "isFailing",
      s."maxPerSecond",
      coalesce(extract(epoch FROM s."circuitOpenUntil" - now()), 0)::float8 AS "circuitOpenSeconds",
      ${columns}
    FROM ${table} s JOIN "Project" p ON p."id" = s."projectId"
    WHERE s."id" = ANY(ARRAY(SELECT DISTINCT ${reference} FROM claimed WHERE ${reference} IS NOT NULL))
  ) AS subscriber`;

const WEBHOOKS = subscribers(
  '"Webhook"',
  '"webhookId"',
  `s."url", s."payloadVersion", s."secret",
   CASE WHEN s."previousSecretExpiresAt" > now() THEN s."previousSecret" END AS "previousSecret"`,
);

const CONNECTORS = subscribers(
  '"Connector"',
  '"connectorId"',
  `s."type", s."secretConfig", s."eventTypes", s."memory", s."pausedAt" IS NOT NULL AS "isPaused"`,
);

/**
 * Takes what `picked` has locked, but for what has to wait for its turn, and reads all that is needed to send it: a row
 * with what is true of all, then one for each delivery. What is put aside has taken the room of others, so there is more
 * to find. The ids go through an array, and each event is looked up for itself, because a planner that cannot know how
 * few they are might otherwise read the whole table.
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
    NULL AS "id", NULL AS "destination", NULL AS "trigger", NULL AS "attemptCount", NULL AS "retryStep",
    NULL AS "leaseToken", NULL AS "errorClass", NULL AS "orderingKey", NULL AS "ageSeconds",
    NULL AS "eventId", NULL AS "type", NULL AS "version", NULL AS "test", NULL AS "timestamp", NULL AS "data",
    NULL AS "traceContext",
    json_build_object(
      'hasMore', meta."hasMore" OR EXISTS (SELECT FROM waiting WHERE "isSure"),
      'after', meta."after",
      'databaseTime', meta."databaseTime",
      'nextDueInMilliseconds', meta."nextDueInMilliseconds",
      'webhooks', (${WEBHOOKS}),
      'connectors', (${CONNECTORS})
    ) AS "meta"
  FROM meta
  UNION ALL
  SELECT
    d."id", coalesce(d."webhookId", d."connectorId"), d."trigger"::text, d."attemptCount", d."retryStep",
    d."leaseToken", d."errorClass", d."orderingKey", extract(epoch FROM now() - d."createdAt")::float8,
    e."id", e."type", e."version", e."test", e."timestamp", e."data"::text,
    e."traceContext",
    NULL
  FROM claimed d CROSS JOIN LATERAL (SELECT * FROM "Event" WHERE "id" = d."eventId" LIMIT 1) AS e`;

const META_TIMES = `
  extract(epoch FROM now())::float8 * 1000 AS "databaseTime",
  extract(epoch FROM ${earliestDue(`> ${DUE}`)} - now())::float8 * 1000 AS "nextDueInMilliseconds"`;

/** The oldest that are due, locked. */
const oldestOf = (condition: string, most: string, order = '"nextAttemptAt"') => `
  SELECT ${ORDERING_COLUMNS}, ${DESTINATION} AS destination, "nextAttemptAt", ${LANE} AS lane FROM "Delivery"
  WHERE ${IS_FREE} AND "nextAttemptAt" <= ${DUE} AND ${condition}
  ORDER BY ${order} LIMIT ${most}
  FOR UPDATE SKIP LOCKED`;

/**
 * The same of one destination. It is written as a range and an order that only an index by destinations has: a planner
 * that takes the queue for empty might otherwise go through all that is due, to whomever.
 */
const oldestTo = (destination: string, condition: string, most: string) =>
  oldestOf(
    `${condition} AND ${DESTINATION} BETWEEN ${destination} AND ${destination}`,
    most,
    `${DESTINATION}, "nextAttemptAt"`,
  );

const TURN = `row_number() OVER (PARTITION BY lane ORDER BY "nextAttemptAt", "id")`;

/** The oldest due deliveries, first tries and retries by turns. What exceeds the room of its destination is left. */
export const CLAIM_OLDEST = `
  WITH ${ROOM},
  due AS (
    SELECT oldest.*, ${TURN} AS turn FROM (VALUES (0, $1::int), (1, least($1::int, $6::int))) AS queue(number, most)
    CROSS JOIN LATERAL (${oldestOf(`${LANE} = queue.number`, 'queue.most')}) AS oldest
  ),
  ranked AS (
    SELECT due.*, row_number() OVER (PARTITION BY destination ORDER BY turn, lane) AS position FROM due
  ),
  picked AS (
    SELECT ${ORDERING_COLUMNS} FROM ranked LEFT JOIN room USING (destination)
    WHERE position <= coalesce(room.slots, $5)
    ORDER BY turn, lane LIMIT $1
  ),
  meta AS (
    SELECT seen.due >= $1 OR seen.picked < seen.due AS "hasMore", '' AS "after", ${META_TIMES}
    FROM (SELECT (SELECT count(*) FROM due) AS due, (SELECT count(*) FROM picked) AS picked) AS seen
  ),
  ${TAKE}`;

const NEXT_DESTINATION = (after: string) => `
  SELECT ${DESTINATION} AS destination FROM "Delivery"
  WHERE "outcome" IS NULL AND "nextAttemptAt" IS NOT NULL AND ${DESTINATION} > ${after}
  ORDER BY ${DESTINATION} LIMIT 1`;

/**
 * Goes from destination to destination by the index and takes from each what it has room for, so that the backlog of a
 * destination without room costs nothing: the claim for when there is one. Looks at $8 destinations at most. Of those
 * whose room is negative only what was asked for by hand is taken.
 */
export const CLAIM_AROUND = `
  WITH RECURSIVE ${ROOM},
  around AS (
    (SELECT destination, 1 AS position FROM (${NEXT_DESTINATION('$7::text')}) AS first)
    UNION ALL
    SELECT (${NEXT_DESTINATION('around.destination')}), position + 1
    FROM around WHERE around.destination IS NOT NULL AND position < $8
  ),
  open AS (
    SELECT around.destination, greatest(coalesce(room.slots, $5), 0) AS slots
    FROM around LEFT JOIN room USING (destination) WHERE around.destination IS NOT NULL
  ),
  due AS (
    SELECT due.* FROM open CROSS JOIN LATERAL (
      SELECT oldest.*, ${TURN} AS turn
      FROM (VALUES (0, open.slots), (1, least(open.slots, $6::int))) AS queue(number, most) CROSS JOIN LATERAL (
        ${oldestTo('open.destination', `${LANE} = queue.number`, 'queue.most')}
      ) AS oldest
      ORDER BY turn, lane LIMIT open.slots
    ) AS due
    LIMIT $1
  ),
  by_hand AS (
    SELECT due.* FROM room CROSS JOIN LATERAL (
      ${oldestTo('room.destination', `"trigger" = 'MANUAL'`, '-room.slots')}
    ) AS due
    WHERE room.slots < 0
  ),
  picked AS (
    SELECT ${ORDERING_COLUMNS} FROM (SELECT due.*, sum(lane) OVER (ORDER BY destination, "id") AS retries FROM due) AS counted
    WHERE lane = 0 OR retries <= $6
    UNION ALL SELECT ${ORDERING_COLUMNS} FROM by_hand
  ),
  seen AS (
    SELECT count(*) >= $1 AS "isFull", max(destination) AS last FROM due
  ),
  progress AS (
    SELECT count(destination) >= $8 AS "isCut", max(destination) AS last FROM around
  ),
  meta AS (
    SELECT
      seen."isFull" OR progress."isCut" AS "hasMore",
      CASE WHEN seen."isFull" THEN seen.last WHEN progress."isCut" THEN progress.last ELSE '' END AS "after",
      ${META_TIMES}
    FROM seen, progress
  ),
  ${TAKE}`;
