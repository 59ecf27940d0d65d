/** How long a new key works: a number of days, forever (empty), or until a chosen date. */
export const LIFETIMES = [
  { value: '', label: 'Never' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
  { value: 'date', label: 'On a specific date' },
];

const DAY_MILLISECONDS = 24 * 3_600_000;

/**
 * When a new key expires, or null if it never does.
 *
 * @param lifetime one of `LIFETIMES`.
 * @param lastDay the last day on which the key works, as `2026-01-31` in the reader's time zone.
 */
export function expiryOf(lifetime: string, lastDay: string, nowMilliseconds = Date.now()): string | null {
  if (lifetime === '') return null;
  if (lifetime !== 'date') return new Date(nowMilliseconds + Number(lifetime) * DAY_MILLISECONDS).toISOString();
  const [year, month, day] = lastDay.split('-').map(Number);
  return new Date(year!, month! - 1, day! + 1).toISOString();
}
