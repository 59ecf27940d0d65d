import { sharedNow } from '../../clock.ts';
import { invalidField } from '../../errors.ts';
import { addDays, dateAt, daysBetween, firstOfMonth, startOfDate } from '../../time-zone.ts';

export type RevenueInterval = 'HOUR' | 'DAY' | 'MONTH';

/** A period of whole intervals: UTC hours, or days or months in the time zone. `to` is exclusive. */
export type Period = { from: Date; to: Date; interval: RevenueInterval; timeZone: string };
type Query = { from?: Date | null; to?: Date | null; interval: RevenueInterval };

export const MAX_BUCKETS = 1_000;

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
// Between these years, the calendars of the database and JavaScript agree, and there is room for the next bucket.
const MIN_YEAR = 1970;
const MAX_YEAR = 9998;

/** The number of intervals in a period without `from`. */
const DEFAULT_LENGTH: Record<RevenueInterval, number> = { HOUR: 24, DAY: 30, MONTH: 12 };

/**
 * Extends a period to whole intervals. `to` defaults to now, and `from` to 24 hours, 30 days, or 12 months before it.
 *
 * @throws AppError `VALIDATION_FAILED` if it is empty, has more than 1,000 intervals, or contains years that are out of
 * range.
 */
export function toPeriod({ from, to, interval }: Query, now: Date, timeZone = 'UTC'): Period {
  for (const [name, time] of Object.entries({ from, to })) {
    if (time && (time.getUTCFullYear() < MIN_YEAR || time.getUTCFullYear() > MAX_YEAR)) {
      throw invalidField(`/${name}`, `Must be between the years ${MIN_YEAR} and ${MAX_YEAR}.`);
    }
  }
  const last = new Date((to ?? now).getTime() - 1);
  const end = startOfInterval(last, interval, 1, timeZone);
  const start = startOfInterval(
    from ?? startOfInterval(end, interval, -DEFAULT_LENGTH[interval], timeZone),
    interval,
    0,
    timeZone,
  );
  const period = { from: start, to: end, interval, timeZone };
  if (start >= end) throw invalidField('/to', 'Must be after `from`.');
  if (countBuckets(period) > MAX_BUCKETS) {
    throw invalidField(
      '/from',
      `The period has more than ${MAX_BUCKETS} intervals. Choose a longer interval or a shorter period.`,
    );
  }
  return period;
}

/**
 * The number of intervals to charge for, in UTC: in another time zone, there can be one more or less. A period that is
 * invalid costs as much as the longest one.
 */
export function countIntervals(query: Query): number {
  try {
    return countBuckets(toPeriod(query, new Date(sharedNow())));
  } catch {
    return MAX_BUCKETS;
  }
}

/** The start of each interval in the period, in order. */
export function bucketStarts({ from, to, interval, timeZone }: Period): Date[] {
  const starts: Date[] = [];
  for (let start = from; start < to; start = startOfInterval(start, interval, 1, timeZone)) starts.push(start);
  return starts;
}

function countBuckets({ from, to, interval, timeZone }: Period): number {
  if (interval === 'HOUR') return (to.getTime() - from.getTime()) / HOUR;
  const [first, end] = [dateAt(from, timeZone), dateAt(to, timeZone)];
  if (interval === 'DAY') return daysBetween(first, end);
  const monthOf = (date: string) => Number(date.slice(0, 4)) * 12 + Number(date.slice(5, 7));
  return monthOf(end) - monthOf(first);
}

/** The start of the interval that is `count` intervals after the one with this time. */
export function startOfInterval(time: Date, interval: RevenueInterval, count: number, timeZone = 'UTC'): Date {
  const length = interval === 'HOUR' ? HOUR : interval === 'DAY' && timeZone === 'UTC' ? DAY : undefined;
  if (length !== undefined) return new Date((Math.floor(time.getTime() / length) + count) * length);
  const date = dateAt(time, timeZone);
  return startOfDate(interval === 'MONTH' ? firstOfMonth(date, count) : addDays(date, count), timeZone);
}
