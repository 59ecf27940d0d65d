import { AppError } from '../errors.ts';
import { createLru } from '../lru.ts';
import { networkOf } from './failed-credentials.ts';
import type { RateLimiter } from './rate-limit.ts';

/** The networks that one customer can usually get at most. */
const PREFIX_LENGTHS = { ipv4: 24, ipv6: 48 };
/** Above this number, the oldest rejections are forgotten until those networks fail again. */
const MAX_REFUSED = 10_000;

/**
 * Counts failures by network, so that callers can't get more by using many addresses. Only failures call the rate
 * limiter, so a process finds out about the failures in others with its own next failure.
 *
 * @param scope separates these failures from other counts in the rate limiter.
 * @param what was rejected, for the error message.
 */
export function createFailuresByNetwork({
  rateLimiter,
  scope,
  what,
  failuresPerMinute,
  now = () => performance.now(),
}: {
  rateLimiter: RateLimiter;
  scope: string;
  what: string;
  failuresPerMinute: { ipv4: number; ipv6: number };
  /** Milliseconds on a monotonic clock. */
  now?: () => number;
}) {
  /** When each network that is above its limit may try again, on that clock. */
  const refusedUntil = createLru<number>(MAX_REFUSED);

  return {
    /** @throws AppError `RATE_LIMITED` after too many failures from this address's network. */
    check(address: string): void {
      if (refusedUntil.size === 0) return;
      const network = largestNetworkOf(address);
      const waitMilliseconds = (refusedUntil.get(network) ?? 0) - now();
      if (waitMilliseconds <= 0) return void refusedUntil.delete(network);
      throw new AppError('RATE_LIMITED', {
        detail: `Too many invalid ${what} from your network. Wait for the number of seconds in \`Retry-After\`.`,
        retryAfterSeconds: Math.ceil(waitMilliseconds / 1000),
      });
    },
    async record(address: string): Promise<void> {
      const network = largestNetworkOf(address);
      const limit = network.includes(':') ? failuresPerMinute.ipv6 : failuresPerMinute.ipv4;
      const { allowed, retryAfterSeconds } = await rateLimiter.record(`${scope} ${network}`, limit);
      if (allowed) return;
      refusedUntil.set(network, now() + retryAfterSeconds * 1000);
    },
  };
}

/** The largest network around an address that one customer can usually get. */
export function largestNetworkOf(address: string): string {
  return networkOf(address, PREFIX_LENGTHS);
}
