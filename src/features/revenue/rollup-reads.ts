/**
 * Statements that read a project's ($1) revenue from $2 to $3, which are whole UTC hours. Days and months come from the
 * books. The other statements read the rollups, add the payments that aren't in them yet, and count the hours with late
 * settlements from the payments.
 */

const SPANS = `
  progress AS (
    SELECT coalesce((SELECT "countedUntil" FROM "RevenueProgress" WHERE "projectId" = $1), '-infinity') AS until
  ),
  changed AS MATERIALIZED (
    SELECT DISTINCT c."hour", until FROM "ChangedRevenueHour" c, progress
    WHERE c."projectId" = $1 AND c."hour" >= $2::timestamptz AND c."hour" < least($3::timestamptz, until)
  ),
  span AS MATERIALIZED (
    SELECT greatest(until, $2::timestamptz) AS "from", $3::timestamptz AS "to" FROM progress
    UNION ALL SELECT "hour", least("hour" + interval '1 hour', until, $3::timestamptz) FROM changed
  )`;

/** The payments that settled in one of the spans. OFFSET makes each span an index scan. */
const settled = (columns: string) => `
  SELECT p.* FROM span CROSS JOIN LATERAL (
    SELECT ${columns} FROM "Payment" p
    WHERE p."projectId" = $1 AND p."settledAt" >= span."from" AND p."settledAt" < span."to" OFFSET 0
  ) AS p`;

const HOURLY = `
  WITH ${SPANS},
  entry AS (
    SELECT r."hour" AS "start", r."endpointId", r."totalAtomic" AS "total", r."paymentCount" AS "count",
      r."failedCount" AS "failures"
    FROM "RevenueHour" r WHERE r."projectId" = $1 AND r."hour" >= $2::timestamptz AND r."hour" < $3::timestamptz
      AND NOT EXISTS (SELECT FROM changed WHERE changed."hour" = r."hour")
    UNION ALL
    ${settled(`date_trunc('hour', p."settledAt", 'UTC'), p."endpointId", p."amountAtomic", 1, 0`)}
    UNION ALL
    SELECT p.* FROM span CROSS JOIN LATERAL (
      SELECT date_trunc('hour', p."updatedAt", 'UTC'), p."endpointId", 0, 0, 1 FROM "Payment" p
      WHERE p."projectId" = $1 AND p."updatedAt" >= span."from" AND p."updatedAt" < span."to"
        AND p."status" = 'FAILED' AND p."failureStage" <> 'VERIFY' OFFSET 0
    ) AS p
  )`;

/** The sums of every hour with payments. */
export const READ_HOURS = `${HOURLY}
  SELECT "start", sum("total")::text AS "totalAtomic", sum("count")::int AS "paymentCount",
    sum("failures")::int AS "failedCount"
  FROM entry GROUP BY 1`;

const BOOKS = `
  FROM "RevenueDay" WHERE "projectId" = $1 AND "day" >= ($2::timestamptz AT TIME ZONE 'UTC')::date
    AND "day" < ($3::timestamptz AT TIME ZONE 'UTC')::date`;

/** The sums of every day or month ($4) with payments, from the books. */
export const READ_DAYS = `
  SELECT date_trunc($4, "day"::timestamp) AT TIME ZONE 'UTC' AS "start", sum("totalAtomic")::text AS "totalAtomic",
    sum("paymentCount")::int AS "paymentCount", sum("failedCount")::int AS "failedCount"
  ${BOOKS} GROUP BY 1`;

/** The $4 endpoints with the most revenue, each with its current or last path. */
const topEndpoints = (ctes: string) => `${ctes},
  top AS (
    SELECT "endpointId", sum("total") AS "total", sum("count")::int AS "count" FROM entry
    GROUP BY 1 HAVING sum("count") > 0 ORDER BY sum("total") DESC, "endpointId" LIMIT $4::int
  )
  SELECT "endpointId", coalesce(
    (SELECT "path" FROM "Endpoint" WHERE "id" = top."endpointId"),
    (SELECT "endpointPath" FROM "Payment" WHERE "endpointId" = top."endpointId" ORDER BY "id" DESC LIMIT 1), ''
  ) AS "path", "total"::text AS "totalAtomic", "count" AS "paymentCount"
  FROM top ORDER BY top."total" DESC, "endpointId"`;

export const READ_TOP_ENDPOINTS = {
  HOUR: topEndpoints(HOURLY),
  DAY: topEndpoints(`
  WITH entry AS (SELECT "endpointId", "totalAtomic" AS "total", "paymentCount" AS "count" ${BOOKS})`),
} as const;

/** What each customer paid, from the pieces of the period with the intervals $4, from $5 to $6. */
const CUSTOMERS = `
  WITH ${SPANS},
  entry AS (
    SELECT r."customerId", r."totalAtomic" AS "total", r."paymentCount" AS "count"
    FROM unnest($4::text[], $5::text[], $6::text[]) AS piece("interval", "from", "to")
    JOIN "CustomerRevenue" r ON r."projectId" = $1 AND r."interval" = piece."interval"::"CustomerRevenueInterval"
      AND r."start" >= piece."from"::timestamptz AND r."start" < piece."to"::timestamptz
    UNION ALL
    SELECT r."customerId", -r."totalAtomic", -r."paymentCount" FROM changed
    JOIN "CustomerRevenue" r ON r."projectId" = $1 AND r."interval" = 'HOUR' AND r."start" = changed."hour"
    UNION ALL
    ${settled('p."customerId", p."amountAtomic", 1')}
  ),
  paid AS (
    SELECT "customerId", sum("total") AS "total", sum("count")::int AS "count" FROM entry
    WHERE "customerId" IS NOT NULL GROUP BY 1 HAVING sum("count") > 0
  )`;

/** The number of customers who paid. */
export const COUNT_CUSTOMERS = `${CUSTOMERS} SELECT count(*)::int AS "count" FROM paid`;

/** The $7 customers who paid the most. */
export const READ_TOP_CUSTOMERS = `${CUSTOMERS}
  SELECT c."id" AS "customerId", c."walletAddress", top."total"::text AS "totalAtomic", top."count" AS "paymentCount"
  FROM (SELECT * FROM paid ORDER BY "total" DESC, "customerId" LIMIT $7::int) AS top
  JOIN "Customer" c ON c."id" = top."customerId"
  ORDER BY top."total" DESC, c."id"`;
