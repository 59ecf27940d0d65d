import type { Queryable } from '../../database/client.ts';
import { AppError } from '../../errors.ts';
import { type DayUse, recordOfDay } from '../../limits/day-limit.ts';
import { largestNetworkOf } from '../../limits/failures-by-network.ts';
import { createLru } from '../../lru.ts';
import type { FanOut } from './steps/fan-out.ts';

/** Up to three for each of the two events: they take about as much space as the payment itself, and aren't counted. */
const FEW = 6;
const MAX_FAILED_DELIVERIES_PER_DAY = 300_000;
/** Many payments can be on their way when the limit is reached. They make the wait longer, but never longer than this. */
const MAX_WAIT_SECONDS = 600;
/** Above this number, a buyer's wait is forgotten until their next payment fails. */
const MAX_REFUSED = 50_000;

/**
 * Counts the deliveries of payments that failed, by the seller's account and the buyer's network. A request that an API
 * fails to serve is free, but each webhook and connector of its project gets a delivery of each event, so without this,
 * buyers could fill the disk. By network, so that they can't keep others from buying.
 *
 * @param fanOuts the steps whose events such a payment has. @param now milliseconds on a monotonic clock.
 */
export function createFailedDeliveries(db: Queryable, fanOuts: readonly FanOut[], now = () => performance.now()) {
  const refusedUntil = createLru<number>(MAX_REFUSED);
  /** What hasn't been counted yet, by key. A key's statements would wait for each other, so it has one at a time. */
  const pending = new Map<string, number>();
  const running = new Set<string>();

  const keyOf = (projectId: string, address: string) =>
    `failed-deliveries ${fanOuts[0]!.accountOf({ projectId })} ${largestNetworkOf(address)}`;

  async function flush(key: string): Promise<void> {
    for (let amount = pending.get(key); amount; amount = pending.get(key)) {
      pending.delete(key);
      const use: DayUse = { key, limitPerDay: MAX_FAILED_DELIVERIES_PER_DAY, amount };
      const waitSeconds = await recordOfDay(db, use, MAX_WAIT_SECONDS);
      if (waitSeconds > 0) refusedUntil.set(key, now() + waitSeconds * 1000);
    }
  }

  return {
    /** Call this when a verified payment from this client address fails. */
    countFailure(projectId: string, address: string): void {
      const deliveries = fanOuts.reduce((sum, fanOut) => sum + fanOut.destinationsOf(projectId), 0);
      if (deliveries <= FEW) return;
      const key = keyOf(projectId, address);
      pending.set(key, (pending.get(key) ?? 0) + deliveries);
      if (running.has(key)) return;
      running.add(key);
      flush(key)
        // The payment has failed either way.
        .catch(() => pending.delete(key))
        .finally(() => running.delete(key));
    },

    /** @throws AppError `RATE_LIMITED` if too many payments from this address's network to the project's account have failed. */
    checkFailures(projectId: string, address: string): void {
      if (refusedUntil.size === 0) return;
      const waitMilliseconds = (refusedUntil.get(keyOf(projectId, address)) ?? 0) - now();
      if (waitMilliseconds <= 0) return;
      throw new AppError('RATE_LIMITED', {
        detail:
          "This seller's APIs have failed to serve too many requests from your network. You weren't charged. Wait for the number of seconds in `Retry-After`.",
        retryAfterSeconds: Math.ceil(waitMilliseconds / 1000),
      });
    },
  };
}
