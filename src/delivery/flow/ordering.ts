import type { Queryable } from '../../database/client.ts';

/**
 * Deliveries of an ordered webhook that have the same key are sent in the order of their events' ids, one after the other.
 * One that has to wait is put aside: still PENDING, with the reason `ordering` and no time at which it is due. Whatever
 * happens to the one before it makes it due, so that waiting has nothing to do with the schedule of retries.
 */

/** Whether one delivery holds up another: an earlier one of its key that is unfinished and has not failed too often. */
const isBefore = (earlier: string, later: string) => `
  ${earlier}."webhookId" = ${later}."webhookId" AND ${earlier}."orderingKey" = ${later}."orderingKey"
  AND ${earlier}."eventId" < ${later}."eventId" AND ${earlier}."outcome" IS NULL
  AND ${earlier}."attemptCount" < (
    SELECT "orderingEscapeAfterAttempts" FROM "Webhook" WHERE "id" = ${earlier}."webhookId"
  )`;

/** What a claim has to know of the deliveries it is about to take. */
export const ORDERING_COLUMNS = `"id", "webhookId", "eventId", "orderingKey"`;

/**
 * Of the deliveries in `picked`: `waiting` are those that are not to be taken yet, and `aside` puts them aside. That needs a
 * lock on the one before: it cannot be finished unseen meanwhile, and the transaction that will finish it sees who waits.
 * Where the lock is not to be had at once, the delivery is left as it is for the next claim.
 */
export const WAITING = `
  waiting AS MATERIALIZED (
    SELECT picked."id", before."id" IS NOT NULL AS "isSure"
    FROM picked LEFT JOIN LATERAL (
      SELECT e."id" FROM "Delivery" e WHERE ${isBefore('e', 'picked')} LIMIT 1 FOR SHARE SKIP LOCKED
    ) AS before ON true
    WHERE picked."orderingKey" IS NOT NULL AND EXISTS (SELECT FROM "Delivery" e WHERE ${isBefore('e', 'picked')})
  ),
  aside AS (
    UPDATE "Delivery" SET "nextAttemptAt" = NULL, "reason" = 'ordering', "updatedAt" = now()
    WHERE "id" = ANY(ARRAY(SELECT "id" FROM waiting WHERE "isSure"))
  )`;

/** A webhook and a key of its deliveries. */
export type OrderingKey = { webhookId: string; key: string };

/**
 * Makes due what waited for deliveries of these keys and need not any longer. Call it in the transaction that changes
 * those, in a statement after the change.
 */
export async function releaseFollowers(db: Queryable, keys: readonly OrderingKey[]): Promise<void> {
  const values = [keys.map(({ webhookId }) => webhookId), keys.map(({ key }) => key)];
  // Two that finish at once (one of them was sent again by hand) each see the other unfinished: the second looks after the
  // first has committed.
  await db.query({
    name: 'delivery_lock_keys',
    text: `SELECT pg_advisory_xact_lock(hash) FROM (
        SELECT DISTINCT hashtextextended(webhook || ' ' || key, 0) AS hash
        FROM unnest($1::text[], $2::text[]) AS done(webhook, key) ORDER BY hash
      ) AS sorted`,
    values,
  });
  await db.query({
    name: 'delivery_release_followers',
    text: `UPDATE "Delivery" SET "nextAttemptAt" = now(), "reason" = NULL, "updatedAt" = now()
      WHERE "id" = ANY(ARRAY(
        SELECT d."id" FROM (SELECT DISTINCT * FROM unnest($1::text[], $2::text[]) AS done(webhook, key)) AS done
        JOIN "Delivery" d ON d."webhookId" = done.webhook AND d."orderingKey" = done.key
        WHERE d."outcome" IS NULL AND d."nextAttemptAt" IS NULL
          AND NOT EXISTS (SELECT FROM "Delivery" e WHERE ${isBefore('e', 'd')})
        ORDER BY d."id" FOR UPDATE OF d
      ))`,
    values,
  });
}

/**
 * Makes everything due that waits for its turn at a webhook; the claims decide anew. Afterwards publish
 * `topics.deliveriesDue`.
 *
 * @param isOrdered false when the webhook is no longer: then nothing waits again.
 */
export async function releaseWaiting(db: Queryable, webhookId: string, isOrdered: boolean): Promise<void> {
  await db.query(
    `UPDATE "Delivery" SET
       "orderingKey" = CASE WHEN $2 THEN "orderingKey" END,
       "reason" = CASE WHEN "nextAttemptAt" IS NULL THEN NULL ELSE "reason" END,
       "nextAttemptAt" = coalesce("nextAttemptAt", now()), "updatedAt" = now()
     WHERE "webhookId" = $1 AND "orderingKey" IS NOT NULL AND "outcome" IS NULL AND "status" = 'PENDING'
       AND (NOT $2 OR "nextAttemptAt" IS NULL)`,
    [webhookId, isOrdered],
  );
}

/** Has the claims look again at what has waited for long: nothing depends on a release that never came. */
export async function recheckWaiting(db: Queryable): Promise<number> {
  const { rowCount } = await db.query(
    `UPDATE "Delivery" SET "nextAttemptAt" = now(), "reason" = NULL, "updatedAt" = now()
     WHERE "id" = ANY(ARRAY(
       SELECT "id" FROM "Delivery"
       WHERE "outcome" IS NULL AND "nextAttemptAt" IS NULL AND "orderingKey" IS NOT NULL
         AND "updatedAt" < now() - interval '10 minutes'
       ORDER BY "updatedAt" LIMIT 500 FOR UPDATE SKIP LOCKED
     ))`,
  );
  return rowCount ?? 0;
}
