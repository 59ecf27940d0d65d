import type { ClaimedDelivery } from '../model/claimed-delivery.ts';

/** A destination is no longer throttled when it may get this many requests at the same time. */
const RECOVERED_SLOTS = 64;
/** A destination without deliveries for this long is forgotten, because it may have been deleted. */
const FORGET_MILLISECONDS = 10 * 60_000;
const MAX_REMEMBERED = 5_000;

type Throttle = { account: string; slots: number; closedUntil: number };

/**
 * Slows down for destinations that rate limit requests. After a 429, nothing is sent for as long as the destination
 * asked. Then it gets one request at a time, and each success doubles that number until the next 429.
 *
 * @param now returns the time of a monotonic clock, in milliseconds.
 */
export function createThrottles(now: () => number = () => performance.now()) {
  const throttles = new Map<string, Throttle>();

  /**
   * Forgets a tenth of the destinations of the account that has the most, starting with those whose wait ends first.
   * Accounts with fewer destinations lose none.
   */
  function evictOldest(): void {
    const byAccount = Map.groupBy(throttles, ([, { account }]) => account);
    const most = [...byAccount.values()].reduce((one, other) => (other.length > one.length ? other : one));
    const ending = most.toSorted(([, one], [, other]) => one.closedUntil - other.closedUntil);
    for (const [id] of ending.slice(0, Math.ceil(most.length / 10))) throttles.delete(id);
  }

  return {
    /** How many more seconds to wait before anything is sent to the destination. */
    closedSeconds: (id: string): number => Math.max(((throttles.get(id)?.closedUntil ?? 0) - now()) / 1000, 0),

    /** The maximum number of deliveries in flight to each of these destinations. */
    slots(): Map<string, number> {
      for (const [id, { closedUntil }] of throttles) {
        if (closedUntil < now() - FORGET_MILLISECONDS) throttles.delete(id);
      }
      return new Map([...throttles].map(([id, { slots, closedUntil }]) => [id, closedUntil > now() ? 0 : slots]));
    },

    onLimited({ destination, account }: Pick<ClaimedDelivery, 'destination' | 'account'>, afterSeconds: number): void {
      const known = throttles.get(destination);
      if (!known && throttles.size >= MAX_REMEMBERED) evictOldest();
      const closedUntil = Math.max(known?.closedUntil ?? 0, now() + afterSeconds * 1000);
      throttles.set(destination, { account, slots: 1, closedUntil });
    },

    onHealthy(id: string): void {
      const throttle = throttles.get(id);
      // A success doesn't count if its request was sent before the destination started rate limiting.
      if (!throttle || throttle.closedUntil > now()) return;
      throttle.slots *= 2;
      if (throttle.slots >= RECOVERED_SLOTS) throttles.delete(id);
    },
  };
}
