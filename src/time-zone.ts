/**
 * Days in IANA time zones. All boundaries come from Node's data, never from the database's, which may be of another
 * version, so that whatever is divided by them has no gaps and no overlaps.
 */

const DAY_MILLISECONDS = 86_400_000;
/** No local time is further from UTC than this. */
const MAX_OFFSET_MILLISECONDS = 16 * 3_600_000;
/** A name in the database of time zones. Offsets, such as `+01:00`, aren't names. */
const NAME = /^[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+){0,2}$/;
/** Formats take tens of kilobytes, so only this many are kept. */
const MAX_FORMATS = 64;

const formats = new Map<string, Intl.DateTimeFormat>();

/** Whether Node knows a time zone by this name, in any case. */
export function isTimeZone(name: string): boolean {
  if (!NAME.test(name)) return false;
  try {
    formatOf(name);
    return true;
  } catch {
    return false;
  }
}

/** The day of a time, as YYYY-MM-DD. */
export function dateAt(time: Date, timeZone: string): string {
  return toDate(wallTime(time.getTime(), timeZone));
}

/**
 * The first moment of a day. Usually, this is midnight. If the clocks skip midnight, it is the time to which they are
 * set; if they skip the whole day, it is the start of the next one.
 */
export function startOfDate(date: string, timeZone: string): Date {
  const midnight = Date.parse(date);
  const guess = midnight - (wallTime(midnight, timeZone) - midnight);
  // Unless the clocks change nearby, midnight comes once, one second after 23:59:59.
  const isOnlyMidnight =
    wallTime(guess, timeZone) === midnight && wallTime(guess - 1_000, timeZone) === midnight - 1_000;
  return new Date(isOnlyMidnight ? guess : findStart(midnight, timeZone));
}

export function addDays(date: string, count: number): string {
  return toDate(Date.parse(date) + count * DAY_MILLISECONDS);
}

/** The first day of the month that is `count` months after a day's month. */
export function firstOfMonth(date: string, count = 0): string {
  const [year, month] = date.split('-').map(Number) as [number, number];
  return toDate(Date.UTC(year, month - 1 + count));
}

/** How many days the second date is after the first one. */
export function daysBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / DAY_MILLISECONDS;
}

/** The first second at which the clocks of the zone have reached a time. */
function findStart(wall: number, timeZone: string): number {
  let before = wall - MAX_OFFSET_MILLISECONDS;
  let start = wall + MAX_OFFSET_MILLISECONDS;
  while (start - before > 1_000) {
    const middle = before + Math.floor((start - before) / 2_000) * 1_000;
    if (wallTime(middle, timeZone) >= wall) start = middle;
    else before = middle;
  }
  return start;
}

/** What the clocks of the zone show, in milliseconds as if they showed UTC. */
function wallTime(time: number, timeZone: string): number {
  return timeZone === 'UTC' ? time : time + offsetAt(time, timeZone);
}

/** For example, `1970, GMT-00:44:30`. The offset of UTC is `GMT`. */
const OFFSET = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/;

/** How far the clocks of the zone are ahead of UTC, in milliseconds. */
function offsetAt(time: number, timeZone: string): number {
  const [, sign, hours = 0, minutes = 0, seconds = 0] = OFFSET.exec(formatOf(timeZone).format(time))!;
  const offset = (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1_000;
  return sign === '-' ? -offset : offset;
}

/** Formats the offset. Formatting what the clocks show, and reading its parts, takes five times as long. */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known) return known;
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset', year: 'numeric' });
  if (formats.size >= MAX_FORMATS) formats.delete(formats.keys().next().value!);
  formats.set(timeZone, format);
  return format;
}

function toDate(wall: number): string {
  return new Date(wall).toISOString().slice(0, 10);
}
