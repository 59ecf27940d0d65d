import type { ClaimedDelivery } from '../model/claimed-delivery.ts';

/** How many deliveries each account has received lately, and the account with the most. */
export type Usage = { amounts: ReadonlyMap<string, number>; heaviest: string };

const HALF_LIFE_MILLISECONDS = 1_000;
/** Accounts with less are forgotten. */
const MIN_AMOUNT = 0.5;

/**
 * Counts the deliveries claimed for each account. Counts halve every second, so an account with a steady load has a
 * count of about 1.4 times its deliveries per second.
 *
 * @param now returns the time of a monotonic clock, in milliseconds.
 */
export function createUsage(now: () => number = () => performance.now()) {
  const counts = new Map<string, { amount: number; at: number }>();

  function amountOf({ amount, at }: { amount: number; at: number }): number {
    return amount * 2 ** ((at - now()) / HALF_LIFE_MILLISECONDS);
  }

  return {
    add({ account }: Pick<ClaimedDelivery, 'account'>): void {
      const count = counts.get(account);
      counts.set(account, { amount: (count ? amountOf(count) : 0) + 1, at: now() });
    },

    /**
     * Undefined if nothing was claimed lately, and nothing is in flight.
     *
     * @param inFlight the deliveries in flight, by account. No count is lower, because slow requests still fill slots
     *   long after they were claimed.
     */
    current(inFlight: ReadonlyMap<string, number> = new Map()): Usage | undefined {
      const amounts = new Map(inFlight);
      for (const [account, count] of counts) {
        const amount = amountOf(count);
        if (amount < MIN_AMOUNT) counts.delete(account);
        else amounts.set(account, Math.max(amount, inFlight.get(account) ?? 0));
      }
      let heaviest: string | undefined;
      for (const [account, amount] of amounts) {
        if (heaviest === undefined || amount > amounts.get(heaviest)!) heaviest = account;
      }
      return heaviest === undefined ? undefined : { amounts, heaviest };
    },
  };
}
