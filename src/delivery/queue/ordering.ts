import type { Queryable } from '../../database/client.ts';
import { preparedStatement, runStatement, statement } from '../../database/statement.ts';
import { unplanned } from '../../database/unplanned.ts';

/**
 * An ordered webhook's deliveries that share a key are sent one after the other, in the order of their events' IDs. A
 * delivery that has to wait is deferred: still PENDING, with the reason `ordering` and without a due time. It becomes
 * due when the delivery before it changes, so waiting never depends on the retry schedule.
 */

// Deliveries are looked up key by key, and each lookup is sorted like the index "Delivery_ordering". Right after a
// backlog has formed, the statistics still say that hardly anything is unfinished. Without the order, the planner would
// then consider every index of unfinished deliveries just as good, and read all of them.

const isOfKey = (delivery: string, webhook: string, key: string) => `
  ${delivery}."webhookId" = ${webhook} AND ${delivery}."orderingKey" = ${key} AND ${delivery}."outcome" IS NULL`;

/** While a delivery is unfinished and hasn't failed too many times, it holds up later ones with the same key. */
const holdsUp = (delivery: string) => `
  ${delivery}."attemptCount" < (SELECT "orderingEscapeAfterAttempts" FROM "Webhook" WHERE "id" = ${delivery}."webhookId")`;

/** The first of the deliveries that hold up this one. */
export const firstBefore = (later: string) => `
  SELECT e."id" FROM "Delivery" e
  WHERE ${isOfKey('e', `${later}."webhookId"`, `${later}."orderingKey"`)} AND e."eventId" < ${later}."eventId"
    AND ${holdsUp('e')}
  ORDER BY e."eventId" LIMIT 1`;

/**
 * The delivery is deferred until its turn comes, unlike one that is held for a paused webhook. The index
 * "Delivery_waiting" uses the same condition.
 */
const IS_ASIDE = `"nextAttemptAt" IS NULL AND "reason" IS DISTINCT FROM 'paused'`;

/** How many deliveries are released in one step, because there may be many. */
const RELEASE_BATCH_SIZE = 10_000;

const IS_OF_DONE = isOfKey('d', 'done.webhook', 'done.key');

/** The event up to which a key's deliveries no longer have to wait: that of the first delivery that holds up others. */
const LAST_IN_TURN = `
  SELECT coalesce(
    (SELECT d."eventId" FROM "Delivery" d WHERE ${IS_OF_DONE} AND ${holdsUp('d')} ORDER BY d."eventId" LIMIT 1),
    (SELECT d."eventId" FROM "Delivery" d WHERE ${IS_OF_DONE} ORDER BY d."eventId" DESC LIMIT 1)
  ) AS "eventId"`;

/** A webhook, and the ordering key shared by some of its deliveries. */
export type OrderingKey = { webhookId: string; key: string };

const LOCK_KEYS = preparedStatement(
  'delivery_lock_keys',
  `SELECT pg_advisory_xact_lock(hash) FROM (
        SELECT DISTINCT hashtextextended(webhook || ' ' || key, 0) AS hash
        FROM unnest($1::text[], $2::text[]) AS done(webhook, key) ORDER BY hash
      ) AS sorted`,
);

/**
 * Makes deliveries due if they were waiting for earlier deliveries with these keys and no longer have to. Call it in
 * the transaction that changes the earlier deliveries, in a statement after the change.
 */
export async function releaseFollowers(db: Queryable, keys: readonly OrderingKey[]): Promise<void> {
  const values = [keys.map(({ webhookId }) => webhookId), keys.map(({ key }) => key)] as const;
  // If two deliveries finish at the same time after a manual resend, each would see the other as unfinished. The lock
  // makes the second transaction check after the first has committed.
  await runStatement(db, LOCK_KEYS(...values));
  await runStatement(db, RELEASE_FOLLOWERS(...values));
}

/**
 * Makes deliveries that are waiting for their turn at a webhook due now, so that claims recheck them. Held deliveries
 * stay held. Handles one batch; the rest keep their turn. Publish `topics.deliveriesDue` afterward.
 *
 * @param isOrdered false if the webhook is no longer ordered, so nothing has to wait anymore.
 */
export async function releaseWaiting(db: Queryable, webhookId: string, isOrdered: boolean): Promise<void> {
  await runStatement(db, RELEASE_WAITING(webhookId, isOrdered));
}

/**
 * Marks deliveries that have waited for a long time as due, in case one was never released. The next claim rechecks
 * them.
 */
export async function recheckWaiting(db: Queryable): Promise<number> {
  const { rowCount } = await runStatement(db, RECHECK_WAITING());
  return rowCount ?? 0;
}

const RELEASE_FOLLOWERS = preparedStatement(
  'delivery_release_followers',
  `UPDATE "Delivery" SET "nextAttemptAt" = now(), "reason" = NULL, "updatedAt" = now()
      WHERE "id" = ANY(ARRAY(
        SELECT next."id" FROM (
          SELECT DISTINCT * FROM unnest($1::text[], $2::text[]) AS done(webhook, key) ORDER BY 1, 2
        ) AS done
        CROSS JOIN LATERAL (${LAST_IN_TURN}) AS last
        CROSS JOIN LATERAL (
          SELECT d."id" FROM "Delivery" d WHERE ${IS_OF_DONE} AND d."eventId" <= last."eventId" AND ${IS_ASIDE}
          ORDER BY d."eventId" LIMIT ${unplanned(RELEASE_BATCH_SIZE)} FOR UPDATE
        ) AS next
      ))`,
);

const RELEASE_WAITING = statement(
  'delivery_release_waiting',
  `UPDATE "Delivery" SET
       "orderingKey" = CASE WHEN $2 THEN "orderingKey" END,
       "reason" = CASE WHEN ${IS_ASIDE} THEN NULL ELSE "reason" END,
       "nextAttemptAt" = CASE WHEN ${IS_ASIDE} THEN now() ELSE "nextAttemptAt" END, "updatedAt" = now()
     WHERE "id" = ANY(ARRAY(
       SELECT "id" FROM "Delivery"
       WHERE "webhookId" = $1 AND "orderingKey" IS NOT NULL AND "outcome" IS NULL AND "status" = 'PENDING'
         AND (NOT $2 OR ${IS_ASIDE})
       ORDER BY "orderingKey", "eventId" LIMIT ${unplanned(RELEASE_BATCH_SIZE)}
     ))`,
);

const RECHECK_WAITING = statement(
  'delivery_recheck_waiting',
  `UPDATE "Delivery" SET "nextAttemptAt" = now(), "reason" = NULL, "updatedAt" = now()
     WHERE "id" = ANY(ARRAY(
       SELECT "id" FROM "Delivery"
       WHERE "outcome" IS NULL AND ${IS_ASIDE} AND "orderingKey" IS NOT NULL
         AND "updatedAt" < now() - interval '10 minutes'
       ORDER BY "updatedAt" LIMIT 500 FOR UPDATE SKIP LOCKED
     ))`,
);
