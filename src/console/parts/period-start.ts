/** The start of a period of `count` UTC intervals. The last interval contains `now`. */
export function startOfPeriod(interval: 'HOUR' | 'DAY' | 'MONTH', count: number, now: Date): Date {
  const [year, month, day, hour] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate(), now.getUTCHours()];
  if (interval === 'MONTH') return new Date(Date.UTC(year, month - count + 1));
  if (interval === 'DAY') return new Date(Date.UTC(year, month, day - count + 1));
  return new Date(Date.UTC(year, month, day, hour - count + 1));
}
