import type { Queryable } from '../../database/client.ts';
import { DUE } from '../../database/due.ts';
import { preparedStatement } from '../../database/statement.ts';
import { ALWAYS_ALLOWED } from '../flow/capacity.ts';
import { blockedSecondsOf } from '../flow/circuits.ts';
import { type ClaimRequest, type ClaimResult, requestValues, runClaim } from './claim-result.ts';
import { firstBefore } from './ordering.ts';
import type { Parked } from './parked-turns.ts';

// The claim of queued deliveries, and its parts that the claim of parked deliveries shares; see `parking.ts`.

// The same expression as in the indexes "Delivery_parked" and "Delivery_by_hand".
export const DESTINATION = `coalesce("webhookId", "connectorId")`;

/** First attempts (0) and retries (1) are queued separately. The indexes use the same expression. */
export const RETRY_CLASS = `least("attemptCount", 1)`;

/**
 * Keeps what the status says about an expired lease: that the process died while sending the delivery, so its request may
 * have arrived. Needed wherever a running delivery gets another status, except after a result.
 */
export const NOTE_INTERRUPTION = `"errorClass" = CASE WHEN "status" = 'RUNNING' THEN 'interrupted' ELSE "errorClass" END`;

/** Unfinished and not leased: either waiting, or claimed under a lease that expired without a result. */
export const IS_FREE = `"outcome" IS NULL AND ("status" = 'PENDING' OR "leasedUntil" <= now())`;

/** Free and in the queue rather than parked. */
export const IS_QUEUED = `${IS_FREE} AND NOT "isParked"`;

/** Someone is waiting for the delivery: it is a test event or was resent. A replay's deliveries wait their turn. */
export const IS_URGENT = `"trigger" = 'MANUAL' AND NOT "isReplay"`;

/**
 * The earliest due time that satisfies the comparison. Looks in each retry class separately, because each is sorted on
 * its own.
 */
export const earliestDue = (comparison: string) => `(
  SELECT min(first."nextAttemptAt") FROM (VALUES (0), (1)) AS classes(retry_class) CROSS JOIN LATERAL (
    SELECT "nextAttemptAt" FROM "Delivery"
    WHERE ${IS_QUEUED} AND "nextAttemptAt" ${comparison} AND ${RETRY_CLASS} = classes.retry_class
    ORDER BY "nextAttemptAt" LIMIT 1
  ) AS first
)`;

/** The due time to start from in a retry class. `marks` has it in milliseconds, for first attempts and for retries. */
export const markOf = (retryClass: string, marks: string) =>
  `to_timestamp((${marks}::float8[])[${retryClass} + 1] / 1000)`;

/** What a claim needs to know about a due delivery before it takes it. */
export const DUE_COLUMNS = `
  "id", "webhookId", "eventId", "orderingKey",
  ${DESTINATION} AS destination, "nextAttemptAt", ${RETRY_CLASS} AS retry_class, ${IS_URGENT} AS "isUrgent"`;

/**
 * Whether the destination is in an array, which may have thousands. PostgreSQL builds a hash table of it. It would
 * compare each delivery with every element of a parameter, and it would join a plain subquery.
 */
export const isOneOf = (destinations: string) =>
  `((${DESTINATION} IN (SELECT unnest(${destinations}::text[]))) IS TRUE)`;

/** Locks due deliveries, in the order of their due times. */
export const oldestOf = (condition: string, most: string) => `
  SELECT ${DUE_COLUMNS} FROM "Delivery"
  WHERE "nextAttemptAt" <= ${DUE} AND ${condition}
  ORDER BY "nextAttemptAt" LIMIT ${most}
  FOR UPDATE SKIP LOCKED`;

export const DUE_RANK = `row_number() OVER (PARTITION BY retry_class ORDER BY "nextAttemptAt", "id")`;

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

/** The webhooks or connectors of the deliveries in `claimed`. */
const destinationsIn = (table: string, reference: string, columns: string) => `
  SELECT coalesce(json_agg(row_to_json(destination)), '[]') FROM (
    SELECT
      s."id", p."name" AS "projectName", p."userId" AS "account", s."isActive", s."failingSince" IS NOT NULL AS "isFailing",
      s."pausedAt" IS NOT NULL AS "isPaused", s."maxPerSecond",
      coalesce(extract(epoch FROM s."circuitOpenUntil" - now()), 0)::float8 AS "circuitOpenSeconds",
      ${columns}
    FROM ${table} s JOIN "Project" p ON p."id" = s."projectId"
    WHERE s."id" = ANY(ARRAY(SELECT DISTINCT ${reference} FROM claimed WHERE ${reference} IS NOT NULL))
  ) AS destination`;

const WEBHOOK_COLUMNS = `
  s."url", s."origin", s."payloadVersion", s."secret", s."timeoutSeconds", s."retrySchedule", s."secretCredentials",
  CASE WHEN s."previousSecretExpiresAt" > now() THEN s."previousSecret" END AS "previousSecret"`;

const CONNECTOR_COLUMNS = `
  s."type", NULL AS "origin", s."secretConfig", s."eventTypes", s."memory", ${blockedSecondsOf('s."type"')} AS "blockedSeconds"`;

/**
 * Claims the deliveries in `picked`, and returns everything needed to send them: a row for each, and one for the whole
 * claim. `select` consists of the queries before that: from the capacity to `picked`, and to `found`, which has one row.
 *
 * Parameters: $1 the maximum number of deliveries, $2 the lease in seconds, $3 and $4 the destinations with known
 * capacity and that capacity, $5 the capacity of all other destinations, $6 the maximum number of retries. $7, $8, and
 * $9 are like $3, $4, and $5, but for accounts, and $10, $11, and $12 are for origins. $13, $14, and $15 are origins,
 * accounts, and how much of the origin's capacity that account can use.
 *
 * `waiting` has the deliveries that can't be taken because of an earlier one with the same ordering key, and `deferred`
 * defers them. That needs a lock on the earlier delivery, so that it can't finish unnoticed, and the transaction that
 * finishes it sees which deliveries are waiting. If the lock isn't available immediately, the delivery is left unchanged
 * for the next claim.
 *
 * The IDs go through an array, and each event is looked up separately, because a planner that doesn't know how few there
 * are might read the whole table.
 */
export const claimStatement = (select: string) => `
  WITH RECURSIVE
  capacity AS (SELECT * FROM unnest($3::text[], $4::int[]) AS capacity(destination, slots)),
  account_capacity AS (SELECT * FROM unnest($7::text[], $8::int[]) AS capacity(account, slots)),
  origin_capacity AS (SELECT * FROM unnest($10::text[], $11::int[]) AS capacity(origin, slots)),
  share_capacity AS (SELECT * FROM unnest($13::text[], $14::text[], $15::int[]) AS capacity(origin, account, slots)),
  ${select},
  waiting AS MATERIALIZED (
    SELECT picked."id", before."id" IS NOT NULL AS "isSure"
    FROM picked LEFT JOIN LATERAL (${firstBefore('picked')} FOR SHARE SKIP LOCKED) AS before ON true
    WHERE picked."orderingKey" IS NOT NULL AND (${firstBefore('picked')}) IS NOT NULL
  ),
  deferred AS (
    UPDATE "Delivery" SET "nextAttemptAt" = NULL, "isParked" = false, "reason" = 'ordering', "updatedAt" = now()
    WHERE "id" = ANY(ARRAY(SELECT "id" FROM waiting WHERE "isSure"))
  ),
  claimed AS (
    UPDATE "Delivery" SET
      "status" = 'RUNNING',
      "leasedUntil" = now() + make_interval(secs => $2),
      "leaseToken" = "leaseToken" + 1,
      ${NOTE_INTERRUPTION}
    WHERE "id" = ANY(ARRAY(SELECT "id" FROM picked EXCEPT ALL SELECT "id" FROM waiting))
    RETURNING *
  )
  SELECT
    d."id", d."projectId", ${DESTINATION} AS "destination", d."trigger"::text, ${IS_URGENT} AS "isUrgent", d."attemptCount",
    d."retryStep", d."leaseToken", d."errorClass", d."orderingKey",
    extract(epoch FROM now() - d."createdAt")::float8 AS "ageSeconds",
    e."id" AS "eventId", e."type", e."version", e."test", e."timestamp", e."data"::text, e."traceContext",
    NULL::json AS "meta"
  FROM claimed d CROSS JOIN LATERAL (SELECT * FROM "Event" WHERE "id" = d."eventId" LIMIT 1) AS e
  UNION ALL
  SELECT
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    json_build_object(
      'found', row_to_json(found),
      'isDeferring', EXISTS (SELECT FROM waiting WHERE "isSure"),
      'databaseMilliseconds', extract(epoch FROM now())::float8 * 1000,
      'nextDueInMilliseconds', extract(epoch FROM ${earliestDue(`> ${DUE}`)} - now())::float8 * 1000,
      'webhooks', (${destinationsIn('"Webhook"', '"webhookId"', WEBHOOK_COLUMNS)}),
      'connectors', (${destinationsIn('"Connector"', '"connectorId"', CONNECTOR_COLUMNS)})
    )
  FROM found`;

/**
 * The deliveries in the queue from the retry class's low-water mark onward, except deliveries to the destinations in
 * $16.
 */
export const FROM_MARK = `
  ${IS_QUEUED} AND ${RETRY_CLASS} = queue.number AND "nextAttemptAt" >= ${markOf('queue.number', '$17')}
  AND NOT ${isOneOf('$16')}`;

/**
 * Whether a delivery without capacity should be parked. If hardly any slots are free, that isn't the fault of an account
 * that has few of them, and its turn in the queue comes sooner than that of thousands of parked destinations. A claim
 * that looks at more than it may take also finds deliveries that are only too many for this claim.
 */
const IS_IN_THE_WAY = `(
  position > slots OR (of_share > share_slots) IS TRUE OR (of_origin > origin_slots) IS TRUE
  OR account_slots < 0 OR (account_slots < $9 / 2 AND $9 > ${ALWAYS_ALLOWED})
) AND (due_rank <= $1 OR least(slots, account_slots, share_slots, origin_slots) <= 0)`;

/** If fewer than one in this many due deliveries has capacity, those without capacity are blocking the rest. */
const MUCH_LEFT_OUT = 8;

/**
 * Claims those of the locked deliveries in `due` that have capacity, from the lowest `due_rank` upward. `due` is a query
 * with `DUE_COLUMNS` and that rank; `select` has the queries before it, each followed by a comma.
 */
export const claimFrom = (due: string, select = '') =>
  claimStatement(`
  ${select}
  due AS (${due}),
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
    SELECT "id", "webhookId", "eventId", "orderingKey" FROM (
      SELECT *, sum(retry_class) OVER (ORDER BY due_rank, retry_class, "id") AS retries FROM judged WHERE "hasCapacity"
    ) AS able
    WHERE retry_class = 0 OR retries <= $6
    ORDER BY due_rank, retry_class LIMIT $1
  ),
  found AS (
    SELECT
      seen.due >= $1 OR seen.picked < seen.due AS "hasMore",
      (
        SELECT coalesce(jsonb_agg(DISTINCT jsonb_build_object('destination', destination, 'account', account)), '[]') FROM judged
        WHERE NOT "hasCapacity" AND (slots < 0 OR seen.picked * ${MUCH_LEFT_OUT} < seen.due AND ${IS_IN_THE_WAY})
      ) AS "leftOut",
      ARRAY(
        SELECT extract(epoch FROM min(due."nextAttemptAt"))::float8 * 1000
        FROM (VALUES (0), (1)) AS classes(retry_class) LEFT JOIN due USING (retry_class) GROUP BY retry_class ORDER BY retry_class
      ) AS "lowestDue"
    FROM (SELECT (SELECT count(*) FROM due) AS due, (SELECT count(*) FROM picked) AS picked) AS seen
  )`);

/**
 * Claims the oldest due deliveries in the queue, alternating between first attempts and retries. Also takes $16, the
 * destinations to pass over, $17, the time in milliseconds to start from in each retry class, and $18, how many
 * deliveries to look at in each.
 */
const CLAIM_DUE = preparedStatement(
  'delivery_claim_due',
  claimFrom(`
    SELECT oldest.*, ${DUE_RANK} AS due_rank
    FROM (VALUES (0, $18::int), (1, CASE WHEN $6::int > 0 THEN $18 ELSE 0 END)) AS queue(number, most)
    CROSS JOIN LATERAL (${oldestOf(FROM_MARK, 'queue.most')}) AS oldest`),
);

export type FoundDue = {
  hasMore: boolean;
  /** Destinations without capacity whose deliveries block other deliveries, and should be parked. */
  leftOut: Parked[];
  /** The earliest due time found among first attempts and among retries, by the database's clock; null for none. */
  lowestDue: (number | null)[];
};

export type DueResult = ClaimResult & FoundDue & { databaseMilliseconds: number };

/** The marks for a claim from the beginning of the queue. */
export const FROM_THE_BEGINNING: readonly number[] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];

/**
 * Takes due deliveries from the queue under a lease: no other process gets them until the lease expires. This is one
 * statement, so a killed process leaves either nothing or a lease behind. All times come from the database's clock.
 *
 * @param options.passOver destinations to skip.
 * @param options.marks the due times in milliseconds to start from, for first attempts and for retries.
 * @param options.mostRead how many deliveries to look at, of first attempts and of retries. Default: as many as it may
 *   take.
 */
export async function claimDue(
  db: Queryable,
  request: ClaimRequest,
  {
    passOver = [],
    marks = FROM_THE_BEGINNING,
    mostRead = request.limit,
  }: { passOver?: readonly string[]; marks?: readonly number[]; mostRead?: number } = {},
): Promise<DueResult> {
  const claim = CLAIM_DUE(...requestValues(request), passOver, marks, mostRead);
  const { found, ...result } = await runClaim<FoundDue>(db, claim);
  return { ...found, ...result };
}
