import type { Queryable } from '../../database/client.ts';
import { cursorsIn, type Order, parseCursor } from '../../database/keyset.ts';
import { preparedStatement, runStatement } from '../../database/statement.ts';

/** What needs attention in an account. It contains counts and times only: no names, URLs, or contents of projects. */
export type AccountHealth = {
  /** The account's user. */
  id: string;
  issuer: string;
  subject: string;
  blockedAt: Date | null;
  /** Payments that have been open for longer than `UNRESOLVED_MINUTES`. */
  unresolvedPaymentCount: number;
  unresolvedSince: Date | null;
  /** Destinations that the service has disabled, has paused, or that are failing but still active. */
  disabledDestinationCount: number;
  pausedDestinationCount: number;
  failingDestinationCount: number;
  /** Deliveries that failed for good in the last 24 hours. */
  failedDeliveryCount: number;
  /** Deliveries that have been due for longer than `OVERDUE_MINUTES`, among the `MAX_WAITING` oldest of each project. */
  overdueDeliveryCount: number;
  overdueSince: Date | null;
  /** The counts that accounts are sorted by, the most serious one first. */
  rank: number[];
};

export const UNRESOLVED_MINUTES = 5;
export const OVERDUE_MINUTES = 1;
/** A project can have millions of deliveries that wait. */
export const MAX_WAITING = 1_000;

/** The worst account first. PostgreSQL compares arrays item by item. */
const BY_RANK: Order<AccountHealth> = {
  name: 'health',
  column: 'rank',
  direction: 'desc',
  write: ({ rank }) => rank.join('-'),
  read: (text) => (/^\d{1,9}(-\d{1,9}){4}$/.test(text) ? text.split('-').map(Number) : undefined),
};
export const HEALTH_CURSORS = cursorsIn(BY_RANK, 'User');

/** The accounts that need attention. `after` and `before` are cursors; a negative `take` counts from the end. */
export async function readHealth(
  db: Queryable,
  { after, before, take }: { after?: string; before?: string; take: number },
): Promise<AccountHealth[]> {
  const isBackwards = take < 0;
  const read = isBackwards ? READ_BACKWARDS : READ;
  const { rows } = await runStatement<AccountHealth>(
    db,
    read(...positionOf(after), ...positionOf(before), Math.abs(take)),
  );
  return isBackwards ? rows.toReversed() : rows;
}

function positionOf(cursor: string | undefined) {
  const position = cursor === undefined ? undefined : parseCursor(BY_RANK, 'User', cursor);
  return [(position?.value as number[] | undefined) ?? null, position?.id ?? null] as const;
}

const DESTINATION = ['projectId', 'isActive', 'disabledReason', 'pausedReason', 'failingSince']
  .map((column) => `"${column}"`)
  .join(', ');
const count = (condition: string) => `count(*) FILTER (WHERE ${condition})`;

/**
 * Each project is looked up in indexes, so this takes about as long for a project with millions of deliveries as for any
 * other one. (An index isn't used for a comparison with another collation, such as that of IDs.) The reserved account that owns deleted projects has no issuer.
 */
const health = (direction: 'ASC' | 'DESC') => `
  WITH destination AS (
    SELECT "projectId", ${count('NOT "isActive" AND "disabledReason" IS NOT NULL')} AS disabled,
      ${count('"isActive" AND "pausedReason" IS NOT NULL')} AS paused,
      ${count('"isActive" AND "pausedReason" IS NULL AND "failingSince" IS NOT NULL')} AS failing
    FROM (SELECT ${DESTINATION} FROM "Webhook" UNION ALL SELECT ${DESTINATION} FROM "Connector") AS any_type
    WHERE "disabledReason" IS NOT NULL OR "pausedReason" IS NOT NULL OR "failingSince" IS NOT NULL
    GROUP BY 1
  ),
  payment AS (
    SELECT "projectId", count(*) AS unresolved, min("createdAt") AS since FROM "Payment"
    WHERE "leasedUntil" IS NOT NULL AND "createdAt" < now() - interval '${UNRESOLVED_MINUTES} minutes' GROUP BY 1
  ),
  account AS (
    SELECT p."userId", coalesce(sum(payment.unresolved), 0)::int AS "unresolvedPaymentCount",
      min(payment.since) AS "unresolvedSince", coalesce(sum(destination.disabled), 0)::int AS "disabledDestinationCount",
      coalesce(sum(destination.paused), 0)::int AS "pausedDestinationCount",
      coalesce(sum(destination.failing), 0)::int AS "failingDestinationCount",
      coalesce(sum(finished.failed), 0)::int AS "failedDeliveryCount",
      coalesce(sum(waiting.overdue), 0)::int AS "overdueDeliveryCount", min(waiting.since) AS "overdueSince"
    FROM "Project" p
    LEFT JOIN destination ON destination."projectId" = p."id"
    LEFT JOIN payment ON payment."projectId" = p."id"
    CROSS JOIN LATERAL (
      SELECT sum("failedCount") AS failed FROM "DeliveryRollup"
      WHERE "projectId" = p."id" COLLATE "default" AND "interval" = 'HOUR' AND "start" >= date_trunc('hour', now()) - interval '23 hours'
    ) AS finished
    CROSS JOIN LATERAL (
      SELECT count(*) AS overdue, min("nextAttemptAt") AS since FROM (
        SELECT "nextAttemptAt", "leasedUntil" FROM "Delivery"
        WHERE "projectId" = p."id" COLLATE "default" AND "outcome" IS NULL ORDER BY "id" LIMIT ${MAX_WAITING}
      ) AS oldest
      WHERE "nextAttemptAt" < now() - interval '${OVERDUE_MINUTES} minute' AND ("leasedUntil" IS NULL OR "leasedUntil" <= now())
    ) AS waiting
    GROUP BY 1
  ),
  ranked AS (
    SELECT u."id", u."issuer", u."subject", u."blockedAt", account.*, ARRAY["unresolvedPaymentCount",
      "disabledDestinationCount" + "pausedDestinationCount", "failingDestinationCount", "failedDeliveryCount",
      "overdueDeliveryCount"] AS "rank"
    FROM account JOIN "User" u ON u."id" = account."userId" WHERE u."issuer" <> ''
  )
  SELECT * FROM ranked
  WHERE "rank" <> '{0,0,0,0,0}'
    AND ($1::int[] IS NULL OR ("rank", "id") < ($1, $2::text)) AND ($3::int[] IS NULL OR ("rank", "id") > ($3, $4::text))
  ORDER BY "rank" ${direction}, "id" ${direction} LIMIT $5`;

const READ = preparedStatement('health-of-accounts', health('DESC'));
const READ_BACKWARDS = preparedStatement('health-of-accounts-backwards', health('ASC'));
