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
/** The condition of the indexes "Webhook_trouble" and "Connector_trouble". */
const IN_TROUBLE = '"disabledReason" IS NOT NULL OR "pausedAt" IS NOT NULL OR "failingSince" IS NOT NULL';
const destinations = (table: string) => `SELECT ${DESTINATION} FROM "${table}" WHERE ${IN_TROUBLE}`;
const count = (condition: string) => `count(*) FILTER (WHERE ${condition})`;

/** The first project after `after` with an unfinished delivery, from "Delivery_unfinished". */
const nextWaiting = (after: string) => `(
      SELECT "projectId" FROM "Delivery" WHERE "outcome" IS NULL AND "projectId" > ${after} ORDER BY "projectId" LIMIT 1
    )`;

/**
 * Starts from what needs attention, which indexes list, and not from the projects: the time that it takes doesn't depend
 * on how many projects there are, nor on how many deliveries a project has. Projects with waiting deliveries are found
 * by skipping from one to the next. The reserved account that owns deleted projects has no issuer.
 */
const health = (direction: 'ASC' | 'DESC') => `
  WITH RECURSIVE destination AS (
    SELECT "projectId", ${count('NOT "isActive" AND "disabledReason" IS NOT NULL')} AS disabled,
      ${count('"isActive" AND "pausedReason" IS NOT NULL')} AS paused,
      ${count('"isActive" AND "pausedReason" IS NULL AND "failingSince" IS NOT NULL')} AS failing
    FROM (${destinations('Webhook')} UNION ALL ${destinations('Connector')}) AS any_type
    GROUP BY 1
  ),
  payment AS (
    SELECT "projectId", count(*) AS unresolved, min("createdAt") AS since FROM "Payment"
    WHERE "leasedUntil" IS NOT NULL AND "createdAt" < now() - interval '${UNRESOLVED_MINUTES} minutes' GROUP BY 1
  ),
  finished AS (
    SELECT "projectId", sum("failedCount") AS failed FROM "DeliveryRollup"
    WHERE "interval" = 'HOUR' AND "failedCount" > 0 AND "start" >= date_trunc('hour', now()) - interval '23 hours' GROUP BY 1
  ),
  waiting ("projectId") AS (
    SELECT ${nextWaiting(`''`)}
    UNION ALL
    SELECT ${nextWaiting('waiting."projectId"')} FROM waiting WHERE waiting."projectId" IS NOT NULL
  ),
  due AS (
    SELECT waiting."projectId", late.* FROM waiting CROSS JOIN LATERAL (
      SELECT count(*) AS overdue, min("nextAttemptAt") AS since FROM (
        SELECT "nextAttemptAt", "leasedUntil" FROM "Delivery"
        WHERE "projectId" = waiting."projectId" AND "outcome" IS NULL ORDER BY "id" LIMIT ${MAX_WAITING}
      ) AS oldest
      WHERE "nextAttemptAt" < now() - interval '${OVERDUE_MINUTES} minute' AND ("leasedUntil" IS NULL OR "leasedUntil" <= now())
    ) AS late
    WHERE waiting."projectId" IS NOT NULL AND late.overdue > 0
  ),
  project AS (
    SELECT * FROM destination FULL JOIN payment USING ("projectId") FULL JOIN finished USING ("projectId")
      FULL JOIN (SELECT "projectId", overdue, since AS "overdueSince" FROM due) AS due USING ("projectId")
  ),
  account AS (
    SELECT owner."userId", coalesce(sum(unresolved), 0)::int AS "unresolvedPaymentCount",
      min(since) AS "unresolvedSince", coalesce(sum(disabled), 0)::int AS "disabledDestinationCount",
      coalesce(sum(paused), 0)::int AS "pausedDestinationCount",
      coalesce(sum(failing), 0)::int AS "failingDestinationCount",
      coalesce(sum(failed), 0)::int AS "failedDeliveryCount",
      coalesce(sum(overdue), 0)::int AS "overdueDeliveryCount", min("overdueSince") AS "overdueSince"
    FROM project CROSS JOIN LATERAL (SELECT "userId" FROM "Project" WHERE "id" = project."projectId" LIMIT 1) AS owner
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
