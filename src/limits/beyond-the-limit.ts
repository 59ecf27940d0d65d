import type { Queryable } from '../database/client.ts';
import { AppError } from '../errors.ts';
import { DAY_SECONDS, takeForChange } from './day-limit.ts';

/** How many minutes' worth of requests per day can be beyond the limit of their minute. */
const MINUTES_PER_DAY = 240;
/** Enough for nine of the largest projects, even if the limit per minute is low. */
const MIN_PER_DAY = 10_000;

/**
 * Counts what a document counts for beyond the whole limit of a minute toward a daily limit. Otherwise, documents that
 * copy or import many endpoints would count for hardly anything, and one account could fill the disk with them. If nothing
 * counts, there is no statement.
 *
 * @param key the caller; see `rateLimitScope`.
 * @returns handles the error if the document doesn't run: undoes the count, and throws the error.
 * @throws AppError `RATE_LIMITED` if too little is left.
 */
export function takeBeyondTheLimit(
  db: Queryable,
  { key, requestsPerMinute, requests }: { key: string; requestsPerMinute: number; requests: number },
): Promise<(error: unknown) => Promise<never>> {
  const limitPerDay = Math.max(MIN_PER_DAY, MINUTES_PER_DAY * requestsPerMinute);
  const use = { key: `beyond-the-limit ${key}`, limitPerDay, amount: requests };
  return takeForChange(db, use, (left) => {
    const retryAfterSeconds = Math.max(1, Math.ceil(((requests - left) / limitPerDay) * DAY_SECONDS));
    return new AppError('RATE_LIMITED', {
      detail:
        `This request counts for more than your limit of ${requestsPerMinute.toLocaleString('en')} requests per minute. ` +
        `It would count for ${requests.toLocaleString('en')} more, and you can have ${limitPerDay.toLocaleString('en')} per day ` +
        `beyond the limit, of which ${left.toLocaleString('en')} are left. Send a smaller request, or wait for the number of ` +
        'seconds in `Retry-After`: the daily limit refills evenly over 24 hours.',
      retryAfterSeconds,
    });
  });
}
