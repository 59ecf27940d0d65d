import type { Queryable } from '../../database/client.ts';
import { AppError } from '../../errors.ts';
import { type DayUse, recordOfDay } from '../../limits/day-limit.ts';
import { createLru } from '../../lru.ts';
import type { FanOut } from './steps/fan-out.ts';

/** Up to three for each of the two events: they take about as much space as the payment itself, and aren't counted. */
const FEW = 6;
const MAX_FAILED_DELIVERIES_PER_DAY = 1_000_000;
/** Many payments can be on their way when the limit is reached. They make the wait longer, but never longer than this. */
const MAX_WAIT_SECONDS = 600;
/** Above this number, an account is forgotten until its next payment fails. */
const MAX_REFUSED = 10_000;

/**
 * Counts the deliveries of payments that failed by account. A request that an API fails to serve is free, but each
 * webhook and connector of its project gets a delivery of each event, so without this, one account could fill the disk.
 *
 * @param fanOuts the steps whose events such a payment has. @param now milliseconds on a monotonic clock.
 */
export function createFailedDeliveries(db: Queryable, fanOuts: readonly FanOut[], now = () => performance.now()) {
  const refusedUntil = createLru<number>(MAX_REFUSED);
  /** What hasn't been counted yet, while a statement of the account runs. Its statements would wait for each other. */
  const pending = new Map<string, number>();
  const running = new Map<string, Promise<void>>();

  async function flush(account: string): Promise<void> {
    for (let amount = pending.get(account); amount; amount = pending.get(account)) {
      pending.delete(account);
      const use: DayUse = { key: `failed-deliveries ${account}`, limitPerDay: MAX_FAILED_DELIVERIES_PER_DAY, amount };
      const waitSeconds = await recordOfDay(db, use, MAX_WAIT_SECONDS);
      if (waitSeconds > 0) refusedUntil.set(account, now() + waitSeconds * 1000);
    }
  }

  return {
    /** Call this when a verified payment has failed. Resolves when it is counted, or couldn't be. */
    async count(projectId: string): Promise<void> {
      const deliveries = fanOuts.reduce((sum, fanOut) => sum + fanOut.destinationsOf(projectId), 0);
      if (deliveries <= FEW) return;
      const account = fanOuts[0]!.accountOf({ projectId });
      pending.set(account, (pending.get(account) ?? 0) + deliveries);
      const flushed = running.get(account) ?? flush(account).finally(() => running.delete(account));
      running.set(account, flushed);
      // The payment has failed either way.
      await flushed.catch(() => pending.delete(account));
    },

    /** @throws AppError `RATE_LIMITED` while the account of a project has to wait. */
    check(projectId: string): void {
      const account = fanOuts[0]!.accountOf({ projectId });
      const waitMilliseconds = (refusedUntil.get(account) ?? 0) - now();
      if (waitMilliseconds <= 0) return;
      throw new AppError('RATE_LIMITED', {
        detail:
          "This seller's APIs have failed to serve too many requests. You weren't charged. Wait for the number of seconds in `Retry-After`.",
        retryAfterSeconds: Math.ceil(waitMilliseconds / 1000),
      });
    },
  };
}
