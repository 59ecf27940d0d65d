import { sharedNow } from '../../clock.ts';
import { invalidField } from '../../errors.ts';

export type RevenueInterval = 'HOUR' | 'DAY' | 'MONTH';

/** A period of whole UTC intervals. `to` is exclusive. */
export type Period = { from: Date; to: Date; interval: RevenueInterval };

export const MAX_BUCKETS = 1_000;

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
// Between these years, the calendars of the database and JavaScript agree, and there is room for the next bucket.
const MIN_YEAR = 1970;
const MAX_YEAR = 9998;

/** The number of intervals in a period without `from`. */
const DEFAULT_LENGTH: Record<RevenueInterval, number> = { HOUR: 24, DAY: 30, MONTH: 12 };

const NEXT_LONGER: Partial<Record<RevenueInterval, RevenueInterval>> = { HOUR: 'DAY', DAY: 'MONTH' };

/**
 * Extends a period to whole intervals. `to` defaults to now, and `from` to 24 hours, 30 days, or 12 months before it.
 *
 * @throws AppError `VALIDATION_FAILED` if it is empty, has more than 1,000 intervals, or contains years that are out of
 * range.
 */
export function toPeriod(
  { from, to, interval }: { from?: Date | null; to?: Date | null; interval: RevenueInterval },
  now: Date,
): Period {
  for (const [name, time] of Object.entries({ from, to })) {
    if (time && (time.getUTCFullYear() < MIN_YEAR || time.getUTCFullYear() > MAX_YEAR)) {
      throw invalidField(`/${name}`, `Must be between the years ${MIN_YEAR} and ${MAX_YEAR}.`);
    }
  }
  const last = new Date((to ?? now).getTime() - 1);
  const end = step(startOf(last, interval), interval, 1);
  const start = startOf(from ?? step(end, interval, -DEFAULT_LENGTH[interval]), interval);
  if (start >= end) throw invalidField('/to', 'Must be after `from`.');
  if (countBuckets(start, end, interval) > MAX_BUCKETS) {
    throw invalidField(
      '/from',
      `The period has more than ${MAX_BUCKETS} intervals. Choose a longer interval or a shorter period.`,
    );
  }
  return { from: start, to: end, interval };
}

/** The number of intervals to charge for. A period that is invalid costs as much as the longest one. */
export function countIntervals(query: Parameters<typeof toPeriod>[0]): number {
  try {
    const { from, to, interval } = toPeriod(query, new Date(sharedNow()));
    return countBuckets(from, to, interval);
  } catch {
    return MAX_BUCKETS;
  }
}

/** The start of each interval in the period, in order. */
export function bucketStarts({ from, to, interval }: Period): Date[] {
  const starts: Date[] = [];
  for (let start = from; start < to; start = step(start, interval, 1)) starts.push(start);
  return starts;
}

/**
 * Divides a period of whole hours into the longest intervals: months, days before and after them, and hours at both
 * ends. Each piece consists of whole intervals of one length. There are at most five.
 */
export function toLongestIntervals({ from, to }: Pick<Period, 'from' | 'to'>): Period[] {
  const divide = (period: Period): Period[] => {
    const interval = NEXT_LONGER[period.interval];
    if (!interval) return [period];
    const start = startOf(period.from, interval);
    const first = start < period.from ? step(start, interval, 1) : start;
    const last = startOf(period.to, interval);
    if (first >= last) return [period];
    const pieces = [
      { ...period, to: first },
      ...divide({ from: first, to: last, interval }),
      { ...period, from: last },
    ];
    return pieces.filter((piece) => piece.from < piece.to);
  };
  return divide({ from, to, interval: 'HOUR' });
}

function countBuckets(from: Date, to: Date, interval: RevenueInterval): number {
  if (interval !== 'MONTH') return (to.getTime() - from.getTime()) / (interval === 'DAY' ? DAY : HOUR);
  return (to.getUTCFullYear() - from.getUTCFullYear()) * 12 + to.getUTCMonth() - from.getUTCMonth();
}

function startOf(time: Date, interval: RevenueInterval): Date {
  if (interval === 'MONTH') return new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth()));
  const length = interval === 'DAY' ? DAY : HOUR;
  return new Date(Math.floor(time.getTime() / length) * length);
}

function step(start: Date, interval: RevenueInterval, count: number): Date {
  if (interval === 'MONTH') return new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + count));
  return new Date(start.getTime() + count * (interval === 'DAY' ? DAY : HOUR));
}
