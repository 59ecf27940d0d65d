import { AppError } from '../errors.ts';
import { createLru } from '../lru.ts';
import { sourceOf } from './failed-credentials.ts';
import type { RateLimiter } from './rate-limit.ts';

/** Limits requests by IP address (for IPv6, by /64). */
export type AddressLimit = {
  /**
   * Counts a request.
   *
   * @param bucket the kind of request. An address has its own limit in each bucket.
   * @param cost how many requests this one counts for.
   * @throws AppError `RATE_LIMITED` if the address has too few requests left.
   */
  take(address: string, bucket: string, cost?: number): Promise<void>;
  /** Counts nothing. @throws AppError `RATE_LIMITED` if the address was rejected and still has to wait. */
  check(address: string, bucket: string): void;
};

/** Above this number, the oldest rejections are forgotten, and the rate limiter is called for those addresses again. */
const MAX_REFUSED = 50_000;

/**
 * @param options `scope` separates these requests from other counts in the rate limiter. `what` names the limited
 *   requests in the error message. `now` returns the time of a monotonic clock in milliseconds.
 */
export function createAddressLimit(options: {
  rateLimiter: RateLimiter;
  scope: string;
  what: string;
  requestsPerMinute: number;
  now?: () => number;
}): AddressLimit {
  const { rateLimiter, scope, what, requestsPerMinute, now = () => performance.now() } = options;
  /** When the next request may be allowed. Until then, a flood is rejected without calling the rate limiter. */
  const refusedUntil = createLru<number>(MAX_REFUSED);

  function tooMany(retryAfterSeconds: number): AppError {
    return new AppError('RATE_LIMITED', {
      detail: `Too many ${what} from this address. Wait for the number of seconds in \`Retry-After\`.`,
      retryAfterSeconds,
    });
  }

  const keyOf = (address: string, bucket: string) => `${scope} ${bucket} ${sourceOf(address)}`;

  function checkKey(key: string): void {
    const waitMilliseconds = (refusedUntil.get(key) ?? 0) - now();
    if (waitMilliseconds > 0) throw tooMany(Math.ceil(waitMilliseconds / 1000));
    refusedUntil.delete(key);
  }

  return {
    check: (address, bucket) => checkKey(keyOf(address, bucket)),
    async take(address, bucket, cost = 1) {
      const key = keyOf(address, bucket);
      checkKey(key);
      const { allowed, retryAfterSeconds } = await rateLimiter.take(key, requestsPerMinute, cost);
      if (allowed) return;
      refusedUntil.set(key, now() + retryAfterSeconds * 1000);
      throw tooMany(retryAfterSeconds);
    },
  };
}
