import type pg from 'pg';
import { asReference } from '../../database/reference.ts';
import { preparedStatement, runStatement } from '../../database/statement.ts';

/**
 * How long before its transaction a settlement can happen without a note, as in the trigger
 * "Payment_note_late_settlement".
 */
const LATE = `interval '5 minutes'`;

/** A payment is counted at the time when it settled or, if it failed, at its last update. */
const TIMES = ['settledAt', 'updatedAt'] as const;

/**
 * The next page of projects, ordered by ID, and which of them may have payments to count before the closed time ($2).
 * $1 is the last ID of the previous page. A payment that was refused or updated after it settled also makes its project
 * due; counting then only moves the progress.
 */
export const findProjectsWithPayments = (condition: string, pageSize: number): string => `
  SELECT p."id", ${[
    'EXISTS (SELECT FROM "ChangedRevenueHour" c WHERE c."projectId" = p."projectId")',
    ...TIMES.map(
      (time) => `EXISTS (
        SELECT FROM "Payment" y WHERE y."projectId" = p."projectId"
          AND y."${time}" >= coalesce(progress."countedUntil", '-infinity') AND y."${time}" < $2::timestamptz - ${LATE}
      )`,
    ),
  ].join(' OR ')} AS "isDue"
  FROM (
    SELECT "id", ${asReference('"id"')} AS "projectId" FROM "Project" WHERE "id" > $1 AND ${condition} ORDER BY "id" LIMIT ${pageSize}
  ) AS p
  LEFT JOIN "RevenueProgress" progress ON progress."projectId" = p."projectId"
  ORDER BY p."id"`;

/** The hour of a project's first payment that isn't in the rollups yet, by one of its times. */
const firstNewHour = (time: (typeof TIMES)[number]) => `date_trunc('hour', (
      SELECT p."${time}" FROM "Payment" p
      WHERE p."projectId" = $1 AND p."${time}" >= until AND p."${time}" < $2::timestamptz - ${LATE}
      ORDER BY p."${time}" LIMIT 1
    ), 'UTC')`;

/**
 * Counts the next hour for project $1, up to five minutes before the closed time ($2): the first one with a late
 * settlement or with new payments. Only the difference is added to the rollups, so a day or a month is never read
 * again. A single statement with one snapshot, so a late settlement that isn't visible yet isn't counted, and its
 * "ChangedRevenueHour" row stays.
 */
const COUNT_HOUR = preparedStatement(
  'revenue_count_hour',
  `
  WITH progress AS (
    SELECT coalesce((SELECT "countedUntil" FROM "RevenueProgress" WHERE "projectId" = $1), '-infinity') AS until
  ),
  next AS (
    SELECT until, least(
      (SELECT min("hour") FROM "ChangedRevenueHour" WHERE "projectId" = $1),
      ${TIMES.map(firstNewHour).join(', ')}
    ) AS hour FROM progress
  ),
  noted AS (
    DELETE FROM "ChangedRevenueHour" c USING next WHERE c."projectId" = $1 AND c."hour" = next.hour RETURNING c."id"
  ),
  step AS (
    SELECT hour, CASE WHEN EXISTS (SELECT FROM noted) THEN hour ELSE greatest(hour, until) END AS "from",
      greatest(until, least(hour + interval '1 hour', $2::timestamptz - ${LATE})) AS "countedUntil",
      EXISTS (SELECT FROM noted) AS "isRecount"
    FROM next WHERE hour IS NOT NULL
  ),
  span AS MATERIALIZED (
    SELECT *, least(hour + interval '1 hour', "countedUntil") AS "to" FROM step
  ),
  moved AS (
    INSERT INTO "RevenueProgress" ("projectId", "countedUntil") SELECT $1, "countedUntil" FROM span
    ON CONFLICT ("projectId") DO UPDATE SET "countedUntil" = EXCLUDED."countedUntil"
  ),
  settled AS MATERIALIZED (
    SELECT p."endpointId", p."customerId", sum(p."amountAtomic") AS total, count(*)::int AS payments
    FROM span JOIN "Payment" p ON p."projectId" = $1 AND p."settledAt" >= span."from" AND p."settledAt" < span."to"
    GROUP BY 1, 2
  ),
  endpoint AS (
    INSERT INTO "RevenueHour" AS r ("projectId", "hour", "endpointId", "totalAtomic", "paymentCount", "failedCount")
    SELECT $1, span.hour, "endpointId", sum(total), sum(payments)::int, sum(failures)::int FROM span, (
      SELECT "endpointId", total, payments, 0 AS failures FROM settled
      UNION ALL
      SELECT p."endpointId", 0, 0, 1
      FROM span JOIN "Payment" p ON p."projectId" = $1 AND p."updatedAt" >= span."from" AND p."updatedAt" < span."to"
      WHERE p."status" = 'FAILED' AND p."failureStage" <> 'VERIFY'
      UNION ALL
      SELECT r."endpointId", -r."totalAtomic", -r."paymentCount", -r."failedCount"
      FROM "RevenueHour" r WHERE r."projectId" = $1 AND r."hour" = (SELECT hour FROM span WHERE "isRecount")
    ) AS entry
    GROUP BY span.hour, "endpointId" HAVING sum(payments) <> 0 OR sum(failures) <> 0 OR sum(total) <> 0
    ON CONFLICT ("projectId", "hour", "endpointId") DO UPDATE SET
      "totalAtomic" = r."totalAtomic" + EXCLUDED."totalAtomic",
      "paymentCount" = r."paymentCount" + EXCLUDED."paymentCount",
      "failedCount" = r."failedCount" + EXCLUDED."failedCount"
  ),
  customer AS (
    SELECT "customerId", sum(total) AS total, sum(payments)::int AS payments FROM (
      SELECT "customerId", total, payments FROM settled WHERE "customerId" IS NOT NULL
      UNION ALL
      SELECT r."customerId", -r."totalAtomic", -r."paymentCount" FROM "CustomerRevenue" r
      WHERE r."projectId" = $1 AND r."interval" = 'HOUR' AND r."start" = (SELECT hour FROM span WHERE "isRecount")
    ) AS entry
    GROUP BY 1 HAVING sum(payments) <> 0 OR sum(total) <> 0
  ),
  written AS (
    INSERT INTO "CustomerRevenue" AS r ("projectId", "interval", "start", "customerId", "totalAtomic", "paymentCount")
    SELECT $1, kept."interval", kept."start", "customerId", total, payments
    FROM customer, span CROSS JOIN LATERAL (VALUES
      ('HOUR'::"CustomerRevenueInterval", hour),
      ('DAY', date_trunc('day', hour, 'UTC')),
      ('MONTH', date_trunc('month', hour, 'UTC'))
    ) AS kept("interval", "start")
    ON CONFLICT ("projectId", "interval", "start", "customerId") DO UPDATE SET
      "totalAtomic" = r."totalAtomic" + EXCLUDED."totalAtomic", "paymentCount" = r."paymentCount" + EXCLUDED."paymentCount"
  )
  SELECT hour FROM span`,
);

/**
 * Counts the next hour of a project's payments in a transaction that has locked the project.
 *
 * @param closed the start of the oldest open transaction, or earlier
 * @returns false if nothing is left to count.
 */
export async function countPaymentHour(
  client: pg.PoolClient,
  { projectId, closed }: { projectId: string; closed: Date },
): Promise<boolean> {
  const { rowCount } = await runStatement(client, COUNT_HOUR(projectId, closed));
  return rowCount === 1;
}
