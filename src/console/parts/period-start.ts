import { addDays, dateAt, firstOfMonth, startOfDate } from '../../time-zone.ts';

/** The start of a period of `count` UTC hours, or days or months in a time zone. The last one contains `now`. */
export function startOfPeriod(interval: 'HOUR' | 'DAY' | 'MONTH', count: number, now: Date, timeZone: string): Date {
  if (interval === 'HOUR') return new Date((Math.floor(now.getTime() / 3_600_000) - count + 1) * 3_600_000);
  const today = dateAt(now, timeZone);
  return startOfDate(interval === 'DAY' ? addDays(today, 1 - count) : firstOfMonth(today, 1 - count), timeZone);
}
