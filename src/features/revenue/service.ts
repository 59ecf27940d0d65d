import { requireVisible } from '../../auth/access.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { sharedNow } from '../../clock.ts';
import type { Transaction } from '../../database/client.ts';
import { runWithPrisma } from '../../database/statement.ts';
import type { TenantDatabase } from '../../database/tenant-client.ts';
import type { VisibleProjectId } from '../../database/tenant-filter.ts';
import { invalidField } from '../../errors.ts';
import type { Project } from '../../generated/prisma/client.ts';
import { bucketStarts, type Period, type RevenueInterval, toPeriod } from './period.ts';
import { type Piece, splitHours, toBucketPieces, toPieces } from './pieces.ts';
import { COUNT_CUSTOMERS, READ_BUCKETS, READ_TOP_CUSTOMERS, READ_TOP_ENDPOINTS } from './rollup-reads.ts';

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

type ProjectPeriod = Period & { projectId: string };
type Sums = { totalAtomic: string; paymentCount: number; failedCount: number };
/** What runs statements whose text never changes: the database, or a transaction. */
type Source = Pick<Transaction, '$queryRawUnsafe'>;

/** A project's revenue by time, endpoint, and customer. Methods throw AppError `VALIDATION_FAILED`. */
export function createRevenueService(options: { db: TenantDatabase; now?: () => Date }) {
  const { db, now = () => new Date(sharedNow()) } = options;
  return {
    /**
     * Revenue for every interval in a period, including intervals without payments. Days and months are those of the
     * project's time zone. Payments count toward the interval in which they settled or failed.
     *
     * @throws AppError `NOT_FOUND` if the viewer can't see the project.
     */
    async read(
      viewer: Viewer,
      project: Pick<Project, 'id' | 'timeZone'>,
      query: { from?: Date | null; to?: Date | null; interval: RevenueInterval },
    ): Promise<Revenue> {
      const period = toPeriod(query, now(), project.timeZone);
      const visible = await requireVisible(db.prisma, viewer, project.id);
      const buckets = await readBuckets(db.prisma, { ...period, projectId: visible });
      return { ...period, projectId: visible, buckets, totals: sumOf(buckets) };
    },

    /** The number of customers with a payment that settled in the period. */
    async customerCount(revenue: Revenue): Promise<number> {
      const [row] = await runWithPrisma<{ count: number }>(db.prisma, COUNT_CUSTOMERS(...customerValues(revenue)));
      return row!.count;
    },

    /** The endpoints with the most revenue in the period, each with its current or last path. */
    async topEndpoints(revenue: Revenue, first: number): Promise<TopEndpoint[]> {
      return topEndpoints(db.prisma, revenue, checkTop(first));
    },

    /** The customers who paid the most in the period. */
    async topCustomers(revenue: Revenue, first: number): Promise<TopCustomer[]> {
      const statement = READ_TOP_CUSTOMERS(...customerValues(revenue), checkTop(first));
      const rows = await runWithPrisma<InText<TopCustomer>>(db.prisma, statement);
      return rows.map((row) => ({ ...row, totalAtomic: BigInt(row.totalAtomic) }));
    },
  };
}

/** The endpoints with the most revenue. Whole UTC days come from the books, unless the period consists of hours. */
export async function topEndpoints(source: Source, period: ProjectPeriod, limit: number): Promise<TopEndpoint[]> {
  const pieces = toPieces(period, period.interval === 'HOUR' ? 'HOUR' : 'DAY');
  const values = valuesOf(period, pieces, [period.from, period.to]);
  const rows = await runWithPrisma<InText<TopEndpoint>>(source, READ_TOP_ENDPOINTS(...values, limit));
  return rows.map((row) => ({ ...row, totalAtomic: BigInt(row.totalAtomic) }));
}

/**
 * The revenue in every interval of the period, in order.
 *
 * @param starts the starts of the intervals, unless they are those of the time zone
 */
export async function readBuckets(
  source: Source,
  period: ProjectPeriod,
  starts: readonly Date[] = bucketStarts(period),
): Promise<RevenueBucket[]> {
  const values = valuesOf(period, toBucketPieces(period, starts), [...starts, period.to]);
  const rows = await runWithPrisma<{ number: number } & Sums>(source, READ_BUCKETS(...values, toTexts(starts)));
  const found = new Map(rows.map(({ number, ...sums }) => [number, sums]));
  return starts.map((start, index) => {
    const { totalAtomic = '0', paymentCount = 0, failedCount = 0 } = found.get(index + 1) ?? {};
    return { start, totalAtomic: BigInt(totalAtomic), paymentCount, failedCount };
  });
}

const customerValues = (revenue: Revenue) => valuesOf(revenue, toPieces(revenue, 'MONTH'), [revenue.from, revenue.to]);

/** The parameters that all statements have. */
function valuesOf({ projectId, from, to }: ProjectPeriod, pieces: readonly Piece[], ends: readonly Date[]) {
  return [
    projectId,
    from.toISOString(),
    to.toISOString(),
    pieces.map(({ interval }) => interval),
    toTexts(pieces.map((piece) => piece.from)),
    toTexts(pieces.map((piece) => piece.to)),
    toTexts(splitHours(ends)),
  ] as const;
}

const toTexts = (times: readonly Date[]) => times.map((time) => time.toISOString());

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
