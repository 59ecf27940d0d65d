import { visibleProject } from '../../auth/access.ts';
import type { Viewer } from '../../auth/viewer.ts';
import type { Database } from '../../database/client.ts';
import type { StatisticsSource } from '../../database/replica.ts';
import { notFound } from '../../errors.ts';
import { bucketStarts, type Period, type RevenueInterval, toPeriod } from '../revenue/period.ts';

/** Delivery counts and the response times of the last attempts. Response times are null if nothing was sent. */
export type DeliveryFigures = {
  succeededCount: number;
  failedCount: number;
  skippedCount: number;
  retriedCount: number;
  responseTimeP50Ms: number | null;
  responseTimeP95Ms: number | null;
};
export type DeliveryStats = Period & {
  buckets: (DeliveryFigures & { start: Date })[];
  totals: DeliveryFigures;
  isPartial: boolean;
};
export type DeliveryStatsService = ReturnType<typeof createDeliveryStatsService>;

/**
 * Reading every delivery in a busy project would take several seconds. If there are more than this, only the newest are
 * counted.
 */
const MAX_COUNTED = 200_000;

const NOTHING: DeliveryFigures = {
  succeededCount: 0,
  failedCount: 0,
  skippedCount: 0,
  retriedCount: 0,
  responseTimeP50Ms: null,
  responseTimeP95Ms: null,
};

/** A project's delivery statistics by UTC hour, day, or month. Methods throw AppError `VALIDATION_FAILED`. */
export function createDeliveryStatsService(options: {
  db: Database;
  statistics: StatisticsSource;
  now?: () => Date;
  maxCounted?: number;
}) {
  const { db, statistics, now = () => new Date(), maxCounted = MAX_COUNTED } = options;
  return {
    /**
     * Counts deliveries by the interval in which they finished. Intervals without deliveries are included.
     *
     * @throws AppError `NOT_FOUND` if the viewer can't see the project.
     */
    async read(
      viewer: Viewer,
      projectId: string,
      query: { from?: Date | null; to?: Date | null; interval: RevenueInterval },
    ): Promise<DeliveryStats> {
      const period = toPeriod(query, now());
      const where = visibleProject(viewer, projectId);
      if ((await db.prisma.project.count({ where })) === 0) throw notFound();
      const { from, to, interval } = period;
      // `updatedAt` is when a delivery finished, since finished deliveries don't change. It is indexed per project.
      const rows = await statistics.$queryRaw<({ start: Date | null; count: number } & DeliveryFigures)[]>`
        WITH counted AS (
          SELECT date_trunc(${interval.toLowerCase()}, "updatedAt", 'UTC') AS "start", "status", "attemptCount", "responseTimeMs"
          FROM "Delivery"
          WHERE "projectId" = ${projectId} AND "updatedAt" >= ${from.toISOString()}::timestamptz
            AND "updatedAt" < ${to.toISOString()}::timestamptz AND "status" IN ('SUCCEEDED', 'FAILED', 'SKIPPED')
          ORDER BY "updatedAt" DESC LIMIT ${maxCounted + 1}
        )
        SELECT "start", count(*)::int AS "count",
          count(*) FILTER (WHERE "status" = 'SUCCEEDED')::int AS "succeededCount",
          count(*) FILTER (WHERE "status" = 'FAILED')::int AS "failedCount",
          count(*) FILTER (WHERE "status" = 'SKIPPED')::int AS "skippedCount",
          count(*) FILTER (WHERE "attemptCount" > 1)::int AS "retriedCount",
          percentile_disc(0.5) WITHIN GROUP (ORDER BY "responseTimeMs") AS "responseTimeP50Ms",
          percentile_disc(0.95) WITHIN GROUP (ORDER BY "responseTimeMs") AS "responseTimeP95Ms"
        FROM counted GROUP BY GROUPING SETS (("start"), ())`;
      const found = new Map(rows.map(({ start, count, ...figures }) => [start?.getTime(), { count, figures }]));
      const all = found.get(undefined);
      return {
        ...period,
        buckets: bucketStarts(period).map((start) => ({ start, ...(found.get(start.getTime())?.figures ?? NOTHING) })),
        totals: all?.figures ?? NOTHING,
        isPartial: (all?.count ?? 0) > maxCounted,
      };
    },
  };
}
