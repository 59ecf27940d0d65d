import { DUE } from '../../database/due.ts';
import { blockedSecondsOf } from '../flow/block-statements.ts';
import { ORDERING_COLUMNS, WAITING } from '../flow/ordering.ts';
import { earliestDue, IS_URGENT, RETRY_CLASS } from './queue.ts';

/**
 * The SQL shared by claims of queued deliveries and claims of parked deliveries. Both take these parameters: $1 the
 * maximum number of deliveries, $2 the lease in seconds, $3 and $4 the destinations with known capacity and that
 * capacity, $5 the capacity of all other destinations, $6 the maximum number of retries. $7, $8, and $9 are like $3,
 * $4, and $5, but for accounts, and $10, $11, and $12 are for origins. $13, $14, and $15 are origins, accounts, and how
 * much of the origin's capacity that account can use.
 */

// The same expression as in the indexes "Delivery_parked" and "Delivery_by_hand".
export const DESTINATION = `coalesce("webhookId", "connectorId")`;

/** The capacity for each destination, account, and origin, and each account's share of an origin, as tables. */
export const CAPACITY = `
  capacity AS (SELECT * FROM unnest($3::text[], $4::int[]) AS capacity(destination, slots)),
  account_capacity AS (SELECT * FROM unnest($7::text[], $8::int[]) AS capacity(account, slots)),
  origin_capacity AS (SELECT * FROM unnest($10::text[], $11::int[]) AS capacity(origin, slots)),
  share_capacity AS (SELECT * FROM unnest($13::text[], $14::text[], $15::int[]) AS capacity(origin, account, slots))`;

/**
 * Each destination's account and origin, with the capacity for both. A connector's origin isn't known before its
 * requests are built, so only the destination's own capacity limits it. Destinations are looked up one by one, because
 * a planner that expects many of them would read whole tables.
 */
export const placesOf = (destinations: string) => `
  SELECT
    d.destination, owner.account, site.origin, coalesce(account_capacity.slots, $9::int) AS account_slots,
    CASE WHEN site.origin IS NOT NULL THEN coalesce(origin_capacity.slots, $12::int) END AS origin_slots,
    share_capacity.slots AS share_slots
  FROM (${destinations}) AS d
  CROSS JOIN LATERAL (
    SELECT "projectId", "origin" FROM "Webhook" WHERE "id" = d.destination
    UNION ALL SELECT "projectId", NULL FROM "Connector" WHERE "id" = d.destination
    LIMIT 1
  ) AS site
  CROSS JOIN LATERAL (SELECT "userId" AS account FROM "Project" WHERE "id" = site."projectId" LIMIT 1) AS owner
  LEFT JOIN account_capacity USING (account) LEFT JOIN origin_capacity USING (origin)
  LEFT JOIN share_capacity USING (origin, account)`;

/**
 * Adds each delivery's position within its account, its account's share of its origin, and its origin. Accounts take
 * turns at an origin, so it doesn't help an account to have many destinations there. An account's destinations take
 * turns in random order.
 */
export const positionsOf = (deliveries: string) => `
  SELECT *, row_number() OVER (PARTITION BY origin ORDER BY (of_share > share_slots) IS TRUE, of_share, random()) AS of_origin
  FROM (
    SELECT *,
      row_number() OVER (PARTITION BY account ORDER BY due_rank, random()) AS of_account,
      row_number() OVER (PARTITION BY origin, account ORDER BY due_rank, random()) AS of_share
    FROM (${deliveries}) AS due JOIN place USING (destination)
  ) AS placed`;

// Unlike `<=`, this holds if a limit is NULL.
export const IS_WITHIN_SHARES = `
  of_account <= account_slots AND (of_share > share_slots) IS NOT TRUE AND (of_origin > origin_slots) IS NOT TRUE`;

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
  `s."url", s."origin", s."payloadVersion", s."secret", s."timeoutSeconds",
   s."retrySchedule", s."secretCredentials",
   CASE WHEN s."previousSecretExpiresAt" > now() THEN s."previousSecret" END AS "previousSecret"`,
);

const CONNECTORS = destinationsOf(
  '"Connector"',
  '"connectorId"',
  `s."type", NULL AS "origin", s."secretConfig", s."eventTypes", s."memory", ${blockedSecondsOf('s."type"')} AS "blockedSeconds"`,
);

/**
 * Claims the deliveries in `picked`, except those that have to wait, and reads everything needed to send them: one row
 * for the whole claim, then one for each delivery. Deliveries that are deferred took slots from other due deliveries,
 * so there may be more to claim. The IDs go through an array, and each event is looked up separately, because a planner
 * that doesn't know how few there are might read the whole table.
 */
export const TAKE = `
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

export const META_TIMES = `
  extract(epoch FROM now())::float8 * 1000 AS "databaseTime",
  extract(epoch FROM ${earliestDue(`> ${DUE}`)} - now())::float8 * 1000 AS "nextDueInMilliseconds"`;

/** Locks due deliveries, in the order of their due times. */
export const oldestOf = (condition: string, most: string) => `
  SELECT
    ${ORDERING_COLUMNS}, ${DESTINATION} AS destination, "nextAttemptAt", ${RETRY_CLASS} AS retry_class, ${IS_URGENT} AS "isUrgent"
  FROM "Delivery"
  WHERE "nextAttemptAt" <= ${DUE} AND ${condition}
  ORDER BY "nextAttemptAt" LIMIT ${most}
  FOR UPDATE SKIP LOCKED`;

export const DUE_RANK = `row_number() OVER (PARTITION BY retry_class ORDER BY "nextAttemptAt", "id")`;

/** Where to start in a retry class. */
export const markOf = (retryClass: string, marks: string) =>
  `to_timestamp((${marks}::float8[])[${retryClass} + 1] / 1000)`;
