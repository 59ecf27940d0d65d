/** A destination is no longer throttled when it may get this many requests at once. */
const RECOVERED_SLOTS = 64;
/** A destination that gets nothing for this long is forgotten, because it may have been deleted. */
const FORGET_MILLISECONDS = 10 * 60_000;
const MAX_REMEMBERED = 5_000;

type Throttle = { slots: number; closedUntil: number };

/**
 * Slows down for destinations that ask for fewer requests (429). Such a destination gets nothing for as long as it
 * asked for, then one request at a time. Each success doubles that number until the destination asks for fewer again.
 *
 * @param now milliseconds of a monotonic clock.
 */
export function createThrottles(now: () => number = () => performance.now()) {
  const throttles = new Map<string, Throttle>();

  return {
    /** For how many more seconds nothing is sent to the destination. */
    closedSeconds: (id: string): number => Math.max(((throttles.get(id)?.closedUntil ?? 0) - now()) / 1000, 0),

    /** The maximum number of deliveries in flight to each of these destinations. */
    slots(): Map<string, number> {
      for (const [id, { closedUntil }] of throttles) {
        if (closedUntil < now() - FORGET_MILLISECONDS) throttles.delete(id);
      }
      return new Map([...throttles].map(([id, { slots, closedUntil }]) => [id, closedUntil > now() ? 0 : slots]));
    },

    onLimited(id: string, afterSeconds: number): void {
      if (throttles.size >= MAX_REMEMBERED) throttles.clear();
      const closedUntil = Math.max(throttles.get(id)?.closedUntil ?? 0, now() + afterSeconds * 1000);
      throttles.set(id, { slots: 1, closedUntil });
    },

    onHealthy(id: string): void {
      const throttle = throttles.get(id);
      // A success doesn't count if its request was in flight before the destination asked for fewer.
      if (!throttle || throttle.closedUntil > now()) return;
      throttle.slots *= 2;
      if (throttle.slots >= RECOVERED_SLOTS) throttles.delete(id);
    },
  };
}
