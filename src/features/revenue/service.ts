import { requireVisible } from '../../auth/access.ts';
import type { Viewer } from '../../auth/viewer.ts';
import type { StatisticsSource } from '../../database/replica.ts';
import type { TenantDatabase } from '../../database/tenant-client.ts';
import type { VisibleProjectId } from '../../database/tenant-filter.ts';
import { invalidField } from '../../errors.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import { bucketStarts, type Period, type RevenueInterval, toPeriod } from './period.ts';

type RevenueBucket = { start: Date; totalAtomic: bigint; paymentCount: number; failedCount: number };
export type Revenue = Period & {
  projectId: VisibleProjectId;
  buckets: RevenueBucket[];
  totals: Omit<RevenueBucket, 'start'>;
};
export type TopEndpoint = { endpointId: string; path: string; totalAtomic: bigint; paymentCount: number };
export type TopCustomer = { customerId: string; walletAddress: string; totalAtomic: bigint; paymentCount: number };
export type RevenueService = ReturnType<typeof createRevenueService>;

const MAX_TOP = 100;

type Span = Pick<Period, 'from' | 'to'>;
type Sums = { totalAtomic: string; paymentCount: number; failedCount: number };

/** A project's revenue by time, endpoint, and customer. Methods throw AppError `VALIDATION_FAILED`. */
export function createRevenueService(options: { db: TenantDatabase; statistics: StatisticsSource; now?: () => Date }) {
  const { db, statistics, now = () => new Date() } = options;
  return {
    /**
     * Revenue for every interval in a period, including intervals without payments. Payments count toward the interval
     * in which they settled or failed.
     *
     * @throws AppError `NOT_FOUND` if the viewer can't see the project.
     */
    async read(
      viewer: Viewer,
      projectId: string,
      query: { from?: Date | null; to?: Date | null; interval: RevenueInterval },
    ): Promise<Revenue> {
      const period = toPeriod(query, now());
      const visible = await requireVisible(db.prisma, viewer, projectId);
      const rows = await statistics.$queryRaw<({ start: Date } & Sums)[]>(
        period.interval === 'HOUR' ? hours(visible, period) : daysOrMonths(visible, period),
      );
      const found = new Map(rows.map(({ start, ...sums }) => [start.getTime(), sums]));
      const buckets = bucketStarts(period).map((start) => {
        const { totalAtomic = '0', paymentCount = 0, failedCount = 0 } = found.get(start.getTime()) ?? {};
        return { start, totalAtomic: BigInt(totalAtomic), paymentCount, failedCount };
      });
      return { ...period, projectId: visible, buckets, totals: sumOf(buckets) };
    },

    /** The number of customers with a payment that settled in the period. */
    async customerCount({ projectId, from, to }: Revenue): Promise<number> {
      const [row] = await statistics.$queryRaw<[{ count: number }]>`
        SELECT count(DISTINCT "customerId")::int AS "count" FROM "Payment" WHERE ${settledIn(projectId, { from, to })}`;
      return row.count;
    },

    /** The endpoints with the most revenue in the period, each with its current or last path. */
    async topEndpoints(revenue: Revenue, first: number): Promise<TopEndpoint[]> {
      return topEndpoints(statistics, revenue, checkTop(first));
    },

    /** The customers who paid the most in the period. */
    async topCustomers({ projectId, from, to }: Revenue, first: number): Promise<TopCustomer[]> {
      const rows = await statistics.$queryRaw<(Omit<TopCustomer, 'totalAtomic'> & { totalAtomic: string })[]>`
        SELECT c."id" AS "customerId", c."walletAddress", top."total"::text AS "totalAtomic", top."count" AS "paymentCount"
        FROM (
          SELECT "customerId", sum("amountAtomic") AS "total", count(*)::int AS "count"
          FROM "Payment" WHERE ${settledIn(projectId, { from, to })}
          GROUP BY "customerId" ORDER BY sum("amountAtomic") DESC, "customerId" LIMIT ${checkTop(first)}
        ) AS top JOIN "Customer" c ON c."id" = top."customerId"
        ORDER BY top."total" DESC, c."id"`;
      return rows.map((row) => ({ ...row, totalAtomic: BigInt(row.totalAtomic) }));
    },
  };
}

/** The endpoints with the most revenue. Whole days come from the books, and hours from the payments. */
export async function topEndpoints(
  source: StatisticsSource,
  period: Span & { projectId: string; interval: RevenueInterval },
  limit: number,
): Promise<TopEndpoint[]> {
  const { projectId, interval } = period;
  const entries =
    interval === 'HOUR'
      ? Prisma.sql`SELECT "endpointId", "amountAtomic" AS "total", 1 AS "count" FROM "Payment"
          WHERE ${settledIn(projectId, period)}`
      : Prisma.sql`SELECT "endpointId", "totalAtomic" AS "total", "paymentCount" AS "count" FROM "RevenueDay"
          WHERE ${daysIn(projectId, period)} AND "paymentCount" > 0`;
  const rows = await source.$queryRaw<(Omit<TopEndpoint, 'totalAtomic'> & { totalAtomic: string })[]>`
    SELECT top.*, coalesce(
      (SELECT "path" FROM "Endpoint" WHERE "id" = top."endpointId"),
      (SELECT "endpointPath" FROM "Payment" WHERE "endpointId" = top."endpointId" ORDER BY "id" DESC LIMIT 1), ''
    ) AS "path"
    FROM (
      SELECT "endpointId", sum("total")::text AS "totalAtomic", sum("count")::int AS "paymentCount"
      FROM (${entries}) AS entry GROUP BY "endpointId" ORDER BY sum("total") DESC, "endpointId" LIMIT ${limit}
    ) AS top ORDER BY top."totalAtomic"::numeric DESC, top."endpointId"`;
  return rows.map((row) => ({ ...row, totalAtomic: BigInt(row.totalAtomic) }));
}

/** Hourly sums come from the payments, because the books are kept by day. A payment never changes after it fails, so
 * its `updatedAt` is when it failed. */
function hours(projectId: VisibleProjectId, period: Period): Prisma.Sql {
  return Prisma.sql`
    SELECT date_trunc('hour', "time", 'UTC') AS "start", sum("amount")::text AS "totalAtomic",
      count(*) FILTER (WHERE "status" = 'SETTLED')::int AS "paymentCount",
      count(*) FILTER (WHERE "status" = 'FAILED')::int AS "failedCount"
    FROM (
      SELECT "settledAt" AS "time", "amountAtomic" AS "amount", "status" FROM "Payment"
      WHERE ${settledIn(projectId, period)}
      UNION ALL
      SELECT "updatedAt", 0, "status" FROM "Payment"
      WHERE ${timeIn(projectId, Prisma.sql`"updatedAt"`, period)} AND "status" = 'FAILED' AND "failureStage" <> 'VERIFY'
    ) AS entry GROUP BY 1`;
}

function daysOrMonths(projectId: VisibleProjectId, period: Period): Prisma.Sql {
  const start = period.interval === 'DAY' ? Prisma.sql`"day"` : Prisma.sql`date_trunc('month', "day")`;
  return Prisma.sql`
    SELECT (${start})::timestamp AT TIME ZONE 'UTC' AS "start", sum("totalAtomic")::text AS "totalAtomic",
      sum("paymentCount")::int AS "paymentCount", sum("failedCount")::int AS "failedCount"
    FROM "RevenueDay"
    WHERE ${daysIn(projectId, period)} GROUP BY 1`;
}

function settledIn(projectId: string, period: Span): Prisma.Sql {
  return timeIn(projectId, Prisma.sql`"settledAt"`, period);
}

function timeIn(projectId: string, column: Prisma.Sql, { from, to }: Span): Prisma.Sql {
  return Prisma.sql`"projectId" = ${projectId} AND ${column} >= ${from.toISOString()}::timestamptz
    AND ${column} < ${to.toISOString()}::timestamptz`;
}

function daysIn(projectId: string, { from, to }: Span): Prisma.Sql {
  return Prisma.sql`"projectId" = ${projectId} AND "day" >= ${dateOf(from)}::date AND "day" < ${dateOf(to)}::date`;
}

function dateOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}

function checkTop(first: number): number {
  if (first < 1 || first > MAX_TOP) throw invalidField('/first', `Must be from 1 to ${MAX_TOP}.`);
  return first;
}

function sumOf(buckets: RevenueBucket[]): Revenue['totals'] {
  return {
    totalAtomic: buckets.reduce((sum, { totalAtomic }) => sum + totalAtomic, 0n),
    paymentCount: buckets.reduce((sum, { paymentCount }) => sum + paymentCount, 0),
    failedCount: buckets.reduce((sum, { failedCount }) => sum + failedCount, 0),
  };
}
