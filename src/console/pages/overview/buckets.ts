import type { RevenueInterval } from '../../../generated/console/overview.ts';
import { addDays, dateAt, firstOfMonth, startOfDate } from '../../../time-zone.ts';

/**
 * The start of a UTC hour, or of a day or month in a time zone: the project's for revenue and payments, and UTC for
 * deliveries. The API groups its counts by these intervals.
 */
export type Bucket = { start: string };

const HOUR_MILLISECONDS = 3_600_000;

const SHORT: Readonly<Record<RevenueInterval, Intl.DateTimeFormatOptions>> = {
  HOUR: { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
  DAY: { month: 'short', day: 'numeric' },
  MONTH: { month: 'short', year: '2-digit' },
};
const LONG: Readonly<Record<RevenueInterval, Intl.DateTimeFormatOptions>> = {
  HOUR: { month: 'short', day: 'numeric', ...SHORT.HOUR },
  DAY: { weekday: 'short', month: 'short', day: 'numeric', year: 'numeric' },
  MONTH: { month: 'long', year: 'numeric' },
};

/** A label for an axis: `14:00`, `Nov 23`, `Nov 26`. */
export function shortLabel(start: string, interval: RevenueInterval, timeZone: string): string {
  return new Date(start).toLocaleString('en', { ...SHORT[interval], timeZone });
}

/** A label that is clear on its own: `Mon, Nov 23, 2026 (so far)`. */
export function longLabel(start: string, interval: RevenueInterval, timeZone: string, now: number): string {
  const label = new Date(start).toLocaleString('en', { ...LONG[interval], timeZone });
  return isSoFar(start, interval, timeZone, now) ? `${label} (so far)` : label;
}

/** When a bucket ends, as an ISO time. */
export function endOf(start: string, interval: RevenueInterval, timeZone: string): string {
  if (interval === 'HOUR') return new Date(Date.parse(start) + HOUR_MILLISECONDS).toISOString();
  const date = dateAt(new Date(start), timeZone);
  return startOfDate(interval === 'DAY' ? addDays(date, 1) : firstOfMonth(date, 1), timeZone).toISOString();
}

/** Whether a bucket hasn't ended, so its figures are incomplete. `now` is in milliseconds. */
export function isSoFar(start: string, interval: RevenueInterval, timeZone: string, now: number): boolean {
  return Date.parse(endOf(start, interval, timeZone)) > now;
}

/** The buckets that an axis labels: evenly spaced, at most `most`, and always including the last one. */
export function ticksOf(buckets: readonly Bucket[], most: number): string[] {
  const step = Math.ceil(buckets.length / Math.max(1, most));
  const last = buckets.length - 1;
  return buckets.flatMap(({ start }, index) => ((last - index) % step === 0 ? [start] : []));
}

/** The list filters that show a bucket's items, which are the ones with these statuses that finished in it. */
export function bucketFilters(
  { start, interval, timeZone }: { start: string; interval: RevenueInterval; timeZone: string },
  statuses: readonly string[],
): string {
  const period = { finishedFrom: new Date(start).toISOString(), finishedTo: endOf(start, interval, timeZone) };
  return new URLSearchParams([...statuses.map((status) => ['status', status]), ...Object.entries(period)]).toString();
}

/**
 * A note about the charts' time zones.
 *
 * @param dayZone the time zone of days and months of revenue
 * @param timeZone the time zone that the reader chose
 */
export function zoneNote(interval: RevenueInterval, dayZone: string, timeZone: string, now: number): string {
  if (interval === 'HOUR') return `Times are in ${timeZone}.`;
  const each = interval === 'DAY' ? 'Days' : 'Months';
  const midnight = startOfDate(dateAt(new Date(now), dayZone), dayZone).toISOString();
  const there = timeZone === dayZone ? '' : `, which is ${shortLabel(midnight, 'HOUR', timeZone)} in ${timeZone}`;
  const begin = `${each} begin at midnight ${dayZone === 'UTC' ? 'UTC' : `in ${dayZone}`}${there}.`;
  return dayZone === 'UTC' ? begin : `${begin} For deliveries, they begin at midnight UTC.`;
}
