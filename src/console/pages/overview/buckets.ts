import type { RevenueInterval } from '../../../generated/console/overview.ts';

/** The start of an hour, day, or month in UTC. The API groups its counts by these intervals. */
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

/** Only hours are converted. A day or month in UTC isn't a day or month in another time zone. */
function zoneFor(interval: RevenueInterval, timeZone: string): string {
  return interval === 'HOUR' ? timeZone : 'UTC';
}

/** A label for an axis: `14:00`, `Nov 23`, `Nov 26`. */
export function shortLabel(start: string, interval: RevenueInterval, timeZone: string): string {
  const options = { ...SHORT[interval], timeZone: zoneFor(interval, timeZone) };
  return new Date(start).toLocaleString('en', options);
}

/** A label that is clear on its own: `Mon, Nov 23, 2026 (so far)`. */
export function longLabel(start: string, interval: RevenueInterval, timeZone: string, now: number): string {
  const options = { ...LONG[interval], timeZone: zoneFor(interval, timeZone) };
  const label = new Date(start).toLocaleString('en', options);
  return isSoFar(start, interval, now) ? `${label} (so far)` : label;
}

/** When a bucket ends, as an ISO time. */
export function endOf(start: string, interval: RevenueInterval): string {
  const end = new Date(start);
  if (interval === 'MONTH') end.setUTCMonth(end.getUTCMonth() + 1);
  else end.setTime(end.getTime() + (interval === 'DAY' ? 24 : 1) * HOUR_MILLISECONDS);
  return end.toISOString();
}

/** Whether a bucket hasn't ended, so its figures are incomplete. `now` is in milliseconds. */
export function isSoFar(start: string, interval: RevenueInterval, now: number): boolean {
  return Date.parse(endOf(start, interval)) > now;
}

/** The buckets that an axis labels: evenly spaced, at most `most`, and always including the last one. */
export function ticksOf(buckets: readonly Bucket[], most: number): string[] {
  const step = Math.ceil(buckets.length / Math.max(1, most));
  const last = buckets.length - 1;
  return buckets.flatMap(({ start }, index) => ((last - index) % step === 0 ? [start] : []));
}

/** The list filters that show a bucket's items, which are the ones with these statuses that finished in it. */
export function bucketFilters(start: string, interval: RevenueInterval, statuses: readonly string[]): string {
  const period = { finishedFrom: new Date(start).toISOString(), finishedTo: endOf(start, interval) };
  return new URLSearchParams([...statuses.map((status) => ['status', status]), ...Object.entries(period)]).toString();
}

/** A note about the charts' time zone. */
export function zoneNote(interval: RevenueInterval, timeZone: string, now: number): string {
  if (interval === 'HOUR') return `Times are in ${timeZone}.`;
  const each = interval === 'DAY' ? 'Days' : 'Months';
  if (timeZone === 'UTC') return `${each} begin at midnight UTC.`;
  const midnight = new Date(Math.floor(now / (24 * HOUR_MILLISECONDS)) * 24 * HOUR_MILLISECONDS);
  return `${each} begin at midnight UTC, which is ${shortLabel(midnight.toISOString(), 'HOUR', timeZone)} in ${timeZone}.`;
}
