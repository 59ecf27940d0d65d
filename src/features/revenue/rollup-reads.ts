/**
 * Statements that read a project's ($1) revenue from $2 to $3. The period is divided into pieces of whole UTC hours,
 * days, or months ($4 to $6: their intervals, starts, and ends). Days come from the books, and everything else from the
 * rollups and the payments that aren't in them yet. Two kinds of hours are counted from the payments instead: hours with late
 * settlements, and hours ($7) of which only a part is in the period or in an interval.
 */

import { statement } from '../../database/statement.ts';

const PIECES = `
  piece AS MATERIALIZED (
    SELECT "interval", "from"::timestamptz, "to"::timestamptz
    FROM unnest($4::text[], $5::text[], $6::text[]) AS piece("interval", "from", "to")
  )`;

/** The payments to read, from the part of the period that isn't read from the books. */
const spans = (part: string) => `
  progress AS (
    SELECT coalesce((SELECT "countedUntil" FROM "RevenueProgress" WHERE "projectId" = $1), '-infinity') AS until
  ),
  part AS MATERIALIZED (${part}),
  changed AS MATERIALIZED (
    SELECT DISTINCT "hour", until FROM progress, (
      SELECT c."hour" FROM part JOIN "ChangedRevenueHour" c
        ON c."projectId" = $1 AND c."hour" >= part."from" AND c."hour" < part."to"
      UNION ALL SELECT split::timestamptz FROM unnest($7::text[]) AS split
    ) AS noted WHERE "hour" < until
  ),
  span AS MATERIALIZED (
    SELECT greatest(until, $2::timestamptz, "from") AS "from", least($3::timestamptz, "to") AS "to"
    FROM progress, part WHERE "to" > until
    UNION ALL
    SELECT greatest("hour", $2::timestamptz), least("hour" + interval '1 hour', until, $3::timestamptz) FROM changed
  )`;

/** The payments that settled in one of the spans. OFFSET makes each span an index scan. */
const settled = (columns: string) => `
  SELECT p.* FROM span CROSS JOIN LATERAL (
    SELECT ${columns} FROM "Payment" p
    WHERE p."projectId" = $1 AND p."settledAt" >= span."from" AND p."settledAt" < span."to" OFFSET 0
  ) AS p`;

/** What was earned in each UTC day or hour, or with a payment, at its start or at the time of the payment. */
const ENTRIES = `
  WITH ${PIECES},
  ${spans(`SELECT "from", "to" FROM piece WHERE "interval" = 'HOUR'`)},
  entry AS (
    SELECT r."day"::timestamp AT TIME ZONE 'UTC' AS "time", r."endpointId", r."totalAtomic" AS "total",
      r."paymentCount" AS "count", r."failedCount" AS "failures"
    FROM piece JOIN "RevenueDay" r ON r."projectId" = $1 AND r."day" >= (piece."from" AT TIME ZONE 'UTC')::date
      AND r."day" < (piece."to" AT TIME ZONE 'UTC')::date
    WHERE piece."interval" = 'DAY'
    UNION ALL
    SELECT r."hour", r."endpointId", r."totalAtomic", r."paymentCount", r."failedCount"
    FROM part JOIN "RevenueHour" r ON r."projectId" = $1 AND r."hour" >= part."from" AND r."hour" < part."to"
    WHERE NOT EXISTS (SELECT FROM changed WHERE changed."hour" = r."hour")
    UNION ALL
    ${settled('p."settledAt", p."endpointId", p."amountAtomic", 1, 0')}
    UNION ALL
    SELECT p.* FROM span CROSS JOIN LATERAL (
      SELECT p."updatedAt", p."endpointId", 0, 0, 1 FROM "Payment" p
      WHERE p."projectId" = $1 AND p."updatedAt" >= span."from" AND p."updatedAt" < span."to"
        AND p."status" = 'FAILED' AND p."failureStage" <> 'VERIFY' OFFSET 0
    ) AS p
  )`;

/** The sums of every interval with payments, by its number in the list of their starts ($8), which starts at 1. */
export const READ_BUCKETS = statement(
  'revenue-buckets',
  `${ENTRIES}
  SELECT width_bucket("time", $8::timestamptz[]) AS "number", sum("total")::text AS "totalAtomic",
    sum("count")::int AS "paymentCount", sum("failures")::int AS "failedCount"
  FROM entry GROUP BY 1`,
);

/** The $8 endpoints with the most revenue, each with its current or last path. */
export const READ_TOP_ENDPOINTS = statement(
  'revenue-top-endpoints',
  `${ENTRIES},
  top AS (
    SELECT "endpointId", sum("total") AS "total", sum("count")::int AS "count" FROM entry
    GROUP BY 1 HAVING sum("count") > 0 ORDER BY sum("total") DESC, "endpointId" LIMIT $8::int
  )
  SELECT "endpointId", coalesce(
    (SELECT "path" FROM "Endpoint" WHERE "id" = top."endpointId"),
    (SELECT "endpointPath" FROM "Payment" WHERE "endpointId" = top."endpointId" ORDER BY "id" DESC LIMIT 1), ''
  ) AS "path", "total"::text AS "totalAtomic", "count" AS "paymentCount"
  FROM top ORDER BY top."total" DESC, "endpointId"`,
);

/** What each customer paid. All pieces come from the rollups, and there are no books of customers. */
const CUSTOMERS = `
  WITH ${PIECES},
  ${spans(`SELECT min("from") AS "from", max("to") AS "to" FROM piece`)},
  entry AS (
    SELECT r."customerId", r."totalAtomic" AS "total", r."paymentCount" AS "count"
    FROM piece JOIN "CustomerRevenue" r ON r."projectId" = $1
      AND r."interval" = piece."interval"::"CustomerRevenueInterval"
      AND r."start" >= piece."from" AND r."start" < piece."to"
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
export const COUNT_CUSTOMERS = statement(
  'revenue-count-customers',
  `${CUSTOMERS} SELECT count(*)::int AS "count" FROM paid`,
);

/** The $8 customers who paid the most. */
export const READ_TOP_CUSTOMERS = statement(
  'revenue-top-customers',
  `${CUSTOMERS}
  SELECT c."id" AS "customerId", c."walletAddress", top."total"::text AS "totalAtomic", top."count" AS "paymentCount"
  FROM (SELECT * FROM paid ORDER BY "total" DESC, "customerId" LIMIT $8::int) AS top
  JOIN "Customer" c ON c."id" = top."customerId"
  ORDER BY top."total" DESC, c."id"`,
);
