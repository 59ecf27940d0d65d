import { requireVisible } from '../../auth/access.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { sharedNow } from '../../clock.ts';
import type { Transaction } from '../../database/client.ts';
import type { TenantDatabase } from '../../database/tenant-client.ts';
import type { VisibleProjectId } from '../../database/tenant-filter.ts';
import { invalidField } from '../../errors.ts';
import { bucketStarts, type Period, type RevenueInterval, toLongestIntervals, toPeriod } from './period.ts';
import { COUNT_CUSTOMERS, READ_DAYS, READ_HOURS, READ_TOP_CUSTOMERS, READ_TOP_ENDPOINTS } from './rollup-reads.ts';

type RevenueBucket = { start: Date; totalAtomic: bigint; paymentCount: number; failedCount: number };
export type Revenue = Period & {
  projectId: VisibleProjectId;
  buckets: RevenueBucket[];
  totals: Omit<RevenueBucket, 'start'>;
};
export type TopEndpoint = { endpointId: string; path: string; totalAtomic: bigint; paymentCount: number };
export type TopCustomer = { customerId: string; walletAddress: string; totalAtomic: bigint; paymentCount: number };
export type RevenueService = ReturnType<typeof createRevenueService>;

/** A row as the driver returns it, with its amount in text. */
type InText<Row> = Omit<Row, 'totalAtomic'> & { totalAtomic: string };

const MAX_TOP = 100;

type Sums = { totalAtomic: string; paymentCount: number; failedCount: number };
/** What runs statements whose text never changes: the database, or a transaction. */
type Source = Pick<Transaction, '$queryRawUnsafe'>;

/** A project's revenue by time, endpoint, and customer. Methods throw AppError `VALIDATION_FAILED`. */
export function createRevenueService(options: { db: TenantDatabase; now?: () => Date }) {
  const { db, now = () => new Date(sharedNow()) } = options;
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
      const span = spanOf({ ...period, projectId: visible });
      const { interval } = period;
      const rows = await (interval === 'HOUR'
        ? db.prisma.$queryRawUnsafe<({ start: Date } & Sums)[]>(READ_HOURS, ...span)
        : db.prisma.$queryRawUnsafe<({ start: Date } & Sums)[]>(READ_DAYS, ...span, interval.toLowerCase()));
      const found = new Map(rows.map(({ start, ...sums }) => [start.getTime(), sums]));
      const buckets = bucketStarts(period).map((start) => {
        const { totalAtomic = '0', paymentCount = 0, failedCount = 0 } = found.get(start.getTime()) ?? {};
        return { start, totalAtomic: BigInt(totalAtomic), paymentCount, failedCount };
      });
      return { ...period, projectId: visible, buckets, totals: sumOf(buckets) };
    },

    /** The number of customers with a payment that settled in the period. */
    async customerCount(revenue: Revenue): Promise<number> {
      const values = [...spanOf(revenue), ...piecesOf(revenue)];
      const [row] = await db.prisma.$queryRawUnsafe<[{ count: number }]>(COUNT_CUSTOMERS, ...values);
      return row.count;
    },

    /** The endpoints with the most revenue in the period, each with its current or last path. */
    async topEndpoints(revenue: Revenue, first: number): Promise<TopEndpoint[]> {
      return topEndpoints(db.prisma, revenue, checkTop(first));
    },

    /** The customers who paid the most in the period. */
    async topCustomers(revenue: Revenue, first: number): Promise<TopCustomer[]> {
      const values = [...spanOf(revenue), ...piecesOf(revenue), checkTop(first)];
      const rows = await db.prisma.$queryRawUnsafe<InText<TopCustomer>[]>(READ_TOP_CUSTOMERS, ...values);
      return rows.map((row) => ({ ...row, totalAtomic: BigInt(row.totalAtomic) }));
    },
  };
}

/** The endpoints with the most revenue. Whole days come from the books, and hours from the rollups. */
export async function topEndpoints(
  source: Source,
  period: Period & { projectId: string },
  limit: number,
): Promise<TopEndpoint[]> {
  const statement = READ_TOP_ENDPOINTS[period.interval === 'HOUR' ? 'HOUR' : 'DAY'];
  const rows = await source.$queryRawUnsafe<InText<TopEndpoint>[]>(statement, ...spanOf(period), limit);
  return rows.map((row) => ({ ...row, totalAtomic: BigInt(row.totalAtomic) }));
}

function spanOf({ projectId, from, to }: Pick<Period, 'from' | 'to'> & { projectId: string }): string[] {
  return [projectId, from.toISOString(), to.toISOString()];
}

/** The intervals, starts, and ends of the rollups that a period consists of. */
function piecesOf(period: Period): string[][] {
  const pieces = toLongestIntervals(period);
  return [
    pieces.map(({ interval }) => interval),
    pieces.map(({ from }) => from.toISOString()),
    pieces.map(({ to }) => to.toISOString()),
  ];
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
