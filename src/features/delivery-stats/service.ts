import { requireVisible } from '../../auth/access.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { sharedNow } from '../../clock.ts';
import { runWithPrisma, statement } from '../../database/statement.ts';
import type { TenantDatabase } from '../../database/tenant-client.ts';
import type { VisibleProjectId } from '../../database/tenant-filter.ts';
import { bucketStarts, type Period, type RevenueInterval, toPeriod } from '../revenue/period.ts';
import { addEntries, deliveryEntries, rollupEntries } from './entries.ts';
import { type FilteredOut, READ_FILTERED_OUT } from './filtered-out.ts';

/** Delivery counts, and the response times of last attempts. Response times are null if nothing was sent. */
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
  /** By destination, starting with the largest count. */
  filteredOut: FilteredOut[];
  isPartial: boolean;
};
export type DeliveryStatsService = ReturnType<typeof createDeliveryStatsService>;

/**
 * The maximum number of deliveries, and of events, to read that aren't in the rollups yet. There are more only until a
 * long history has been counted for the first time, or while a transaction stays open for a long time.
 */
const MAX_READ = 200_000;

const NOTHING: DeliveryFigures = {
  succeededCount: 0,
  failedCount: 0,
  skippedCount: 0,
  retriedCount: 0,
  responseTimeP50Ms: null,
  responseTimeP95Ms: null,
};

/** The shortest response time within which this share of the responses arrived, like `percentile_disc`. */
const percentile = (share: number) =>
  `min(ms) FILTER (WHERE responses > 0 AND "rank" >= ceil(${share}::float8 * "all"))`;

const inPeriod = (interval: string) =>
  `r."projectId" = $1 AND r."interval" = ${interval} AND r."start" >= $2 AND r."start" < $3`;

/**
 * The figures for project $1 from $2 to $3, grouped by $4. Reads the rollups with the interval $5 and at most $6
 * deliveries. Adds the deliveries that aren't in the rollups yet. Recounts the hours when finished deliveries were
 * resent or deleted.
 */
const READ = statement(
  'delivery-stats-read',
  `
  WITH progress AS (
    SELECT coalesce((SELECT "countedUntil" FROM "DeliveryRollupProgress" WHERE "projectId" = $1), '-infinity') AS until
  ),
  changed AS MATERIALIZED (
    SELECT DISTINCT c."hour", until FROM "ChangedDeliveryHour" c, progress
    WHERE c."projectId" = $1 AND c."hour" >= $2 AND c."hour" < $3 AND c."hour" < until
  ),
  span AS MATERIALIZED (
    SELECT greatest(until, $2) AS "from", $3::timestamptz AS "to" FROM progress
    UNION ALL SELECT "hour", least("hour" + interval '1 hour', until) FROM changed
    ORDER BY "from" DESC
  ),
  delivery AS MATERIALIZED (
    SELECT d.* FROM span CROSS JOIN LATERAL (
      SELECT d."updatedAt", d."outcome", d."attemptCount", d."responseTimeMs" FROM "Delivery" d
      WHERE d."projectId" = $1 AND d."updatedAt" >= span."from" AND d."updatedAt" < span."to" AND d."outcome" IS NOT NULL
      ORDER BY d."updatedAt" DESC LIMIT $6
    ) AS d
    LIMIT $6
  ),
  added AS (
    ${addEntries(
      `${rollupEntries(inPeriod('$5::"DeliveryRollupInterval"'))}
       UNION ALL
       ${rollupEntries(`${inPeriod(`'HOUR'`)} AND r."start" IN (SELECT "hour" FROM changed)`, '-')}
       UNION ALL
       ${deliveryEntries(`date_trunc($4, d."updatedAt", 'UTC')`, 'delivery d')}`,
      `date_trunc($4, entry."start", 'UTC')`,
      'GROUPING SETS ((1, ms), (ms))',
    )}
  ),
  ranked AS (
    SELECT *, sum(responses) OVER (PARTITION BY "start" ORDER BY ms) AS "rank", sum(responses) OVER (PARTITION BY "start") AS "all"
    FROM added
  )
  SELECT "start", sum(succeeded)::int AS "succeededCount", sum(failed)::int AS "failedCount",
    sum(skipped)::int AS "skippedCount", sum(retried)::int AS "retriedCount",
    ${percentile(0.5)} AS "responseTimeP50Ms", ${percentile(0.95)} AS "responseTimeP95Ms",
    (SELECT count(*) FROM delivery) = $6 AS "isPartial"
  FROM ranked GROUP BY "start"`,
);

const spanOf = (projectId: VisibleProjectId, { from, to }: Period) =>
  [projectId, from.toISOString(), to.toISOString()] as const;

/** A project's delivery statistics by UTC hour, day, or month. Methods throw AppError `VALIDATION_FAILED`. */
export function createDeliveryStatsService(options: { db: TenantDatabase; now?: () => Date; maxRead?: number }) {
  const { db, now = () => new Date(sharedNow()), maxRead = MAX_READ } = options;
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
      const visible = await requireVisible(db.prisma, viewer, projectId);
      const { interval } = period;
      const rollups = interval === 'HOUR' ? 'HOUR' : 'DAY';
      const span = spanOf(visible, period);
      const [rows, filtered] = await Promise.all([
        runWithPrisma<DeliveryFigures & { start: Date | null; isPartial: boolean }>(
          db.prisma,
          READ(...span, interval.toLowerCase(), rollups, maxRead + 1),
        ),
        runWithPrisma<FilteredOut & { isPartial: boolean }>(db.prisma, READ_FILTERED_OUT(...span, maxRead + 1)),
      ]);
      const found = new Map(rows.map(({ start, isPartial, ...figures }) => [start?.getTime(), figures]));
      return {
        ...period,
        buckets: bucketStarts(period).map((start) => ({ start, ...(found.get(start.getTime()) ?? NOTHING) })),
        totals: found.get(undefined) ?? NOTHING,
        filteredOut: filtered.filter(({ destinationId }) => destinationId !== null),
        isPartial: [...rows, ...filtered].some(({ isPartial }) => isPartial),
      };
    },
  };
}
