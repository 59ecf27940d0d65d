import { connectorTitle } from '../../connectors/types/registry.ts';
import type { Queryable } from '../../database/client.ts';
import { runStatement, statement } from '../../database/statement.ts';
import { formatUsd } from '../../money.ts';

/** A project's figures for one week. Amounts are decimal strings in US dollars. */
export type Digest = {
  /** The Monday, for example, `2026-11-16`. */
  week: string;
  totalUsd: string;
  paymentCount: number;
  failedPaymentCount: number;
  customerCount: number;
  newCustomerCount: number;
  deliveries: { succeeded: number; failed: number; skipped: number };
  /** The most common reasons for failed payments and deliveries, most common first. */
  failures: { of: 'payment' | 'delivery'; cause: string; count: number }[];
  /** The destinations with the slowest responses, slowest first. */
  slowest: { destinationId: string; name: string; p95Ms: number; deliveryCount: number }[];
};

const MAX_CAUSES = 5;
const MAX_SLOWEST = 3;
/** Causes and response times come from at most this many of the week's latest deliveries. */
const MAX_READ = 100_000;

const SUMS = statement(
  'digest-revenue',
  `
  SELECT coalesce(sum("totalAtomic"), 0)::text AS "total", coalesce(sum("paymentCount"), 0)::int AS "paymentCount",
    coalesce(sum("failedCount"), 0)::int AS "failedPaymentCount"
  FROM "RevenueDay" WHERE "projectId" = $1 AND "day" >= $2::date AND "day" < $2::date + 7`,
);

const WEEK = `$2::timestamp AT TIME ZONE 'UTC'`;
const inWeek = (column: string) =>
  `${column} >= ${WEEK} AND ${column} < ($2::timestamp + interval '7 days') AT TIME ZONE 'UTC'`;

const CUSTOMERS = statement(
  'digest-customers',
  `
  SELECT count(DISTINCT p."customerId")::int AS "customerCount",
    count(DISTINCT p."customerId") FILTER (WHERE ${inWeek('c."firstPaymentAt"')})::int AS "newCustomerCount"
  FROM "Payment" p LEFT JOIN "Customer" c ON c."id" = p."customerId"
  WHERE p."projectId" = $1 AND ${inWeek('p."settledAt"')}`,
);

const DELIVERIES = statement(
  'digest-deliveries',
  `
  SELECT coalesce(sum("succeededCount"), 0)::int AS "succeeded", coalesce(sum("failedCount"), 0)::int AS "failed",
    coalesce(sum("skippedCount"), 0)::int AS "skipped"
  FROM "DeliveryRollup" WHERE "projectId" = $1 AND "interval" = 'DAY' AND ${inWeek('"start"')}`,
);

/** Excludes payments that failed verification, as the books do, because their senders are unverified. */
const FAILURES = statement(
  'digest-failures',
  `
  (SELECT 'payment' AS "of", coalesce("failureReason", 'unknown') AS "cause", count(*)::int AS "count" FROM "Payment"
    WHERE "projectId" = $1 AND "status" = 'FAILED' AND "failureStage" <> 'VERIFY' AND ${inWeek('"updatedAt"')} GROUP BY 2)
  UNION ALL
  (SELECT 'delivery', coalesce(d."errorClass", d."reason", 'unknown'), count(*)::int FROM (
      SELECT "errorClass", "reason", "outcome" FROM "Delivery"
      WHERE "projectId" = $1 AND "outcome" IS NOT NULL AND ${inWeek('"updatedAt"')} ORDER BY "updatedAt" DESC LIMIT ${MAX_READ}
    ) AS d WHERE d."outcome" = 'FAILED' GROUP BY 2)
  ORDER BY 3 DESC, 1, 2 LIMIT ${MAX_CAUSES}`,
);

const SLOWEST = statement(
  'digest-slowest',
  `
  SELECT slow.*, c."type",
    coalesce(w."name", substring(w."url" FROM '^[A-Za-z]+://(?:[^/?#@]*@)?([^/?#@]+)'), c."name") AS "name"
  FROM (
    SELECT coalesce(d."webhookId", d."connectorId") AS "destinationId", count(*)::int AS "deliveryCount",
      percentile_disc(0.95) WITHIN GROUP (ORDER BY d."responseTimeMs") AS "p95Ms"
    FROM (
      SELECT "webhookId", "connectorId", "responseTimeMs" FROM "Delivery"
      WHERE "projectId" = $1 AND "outcome" IS NOT NULL AND "responseTimeMs" IS NOT NULL AND ${inWeek('"updatedAt"')}
      ORDER BY "updatedAt" DESC LIMIT ${MAX_READ}
    ) AS d GROUP BY 1
  ) AS slow
  LEFT JOIN "Webhook" w ON w."id" = slow."destinationId" AND w."projectId" = $1
  LEFT JOIN "Connector" c ON c."id" = slow."destinationId" AND c."projectId" = $1
  WHERE w."id" IS NOT NULL OR c."id" IS NOT NULL
  ORDER BY slow."p95Ms" DESC, slow."destinationId" LIMIT ${MAX_SLOWEST}`,
);

/** Only connectors can be without a name. */
type Slowest = Omit<Digest['slowest'][number], 'name'> & { name: string | null; type: string };

/** Reads a project's figures for the UTC week that starts on a Monday. Revenue and counts come from the rollups. */
export async function readDigest(db: Queryable, projectId: string, week: string): Promise<Digest> {
  const of = [projectId, week] as const;
  const sums = await runStatement(db, SUMS(...of));
  const customers = await runStatement(db, CUSTOMERS(...of));
  const deliveries = await runStatement(db, DELIVERIES(...of));
  const failures = await runStatement(db, FAILURES(...of));
  const slowest = await runStatement<Slowest>(db, SLOWEST(...of));
  const { total, ...payments } = sums.rows[0]!;
  return {
    week,
    totalUsd: formatUsd(BigInt(total)),
    ...payments,
    ...customers.rows[0]!,
    deliveries: deliveries.rows[0]!,
    failures: failures.rows as Digest['failures'],
    slowest: slowest.rows.map(({ type, name, ...figures }) => ({ ...figures, name: name ?? connectorTitle(type) })),
  };
}

/** Whether nothing happened in the week. */
export const isEmptyDigest = ({ paymentCount, failedPaymentCount, deliveries }: Digest): boolean =>
  paymentCount + failedPaymentCount + deliveries.succeeded + deliveries.failed + deliveries.skipped === 0;
