export type DestinationLimits = {
  /** Slots of the worker. */
  maxInFlight: number;
  /** What a destination may always have in flight. */
  perDestination: number;
  /** What it may have in flight at most. */
  maxPerDestination: number;
};

/** What a destination that only fails may have in flight: enough to notice that it is back. */
const FAILING_SLOTS = 4;
const FAILURES_IN_A_ROW = 5;
const MAX_REMEMBERED = 5_000;

/**
 * Shares the worker's slots among destinations. Each may always have `perDestination` in flight, and more while few
 * others are busy: an equal share of all slots, with one share left free for a newcomer. A destination that has only
 * failed lately gets a few, so that dead hosts cannot fill the worker together.
 */
export function createDestinations({ maxInFlight, perDestination, maxPerDestination }: DestinationLimits) {
  const inFlight = new Map<string, number>();
  const failuresInARow = new Map<string, number>();

  const isFailing = (id: string) => (failuresInARow.get(id) ?? 0) >= FAILURES_IN_A_ROW;

  return {
    isFailing,

    /** How many have only failed lately. */
    failingCount: () => [...failuresInARow.keys()].filter(isFailing).length,

    /** The share of a destination of which nothing bad is known. */
    share(): number {
      const equal = Math.floor(maxInFlight / Math.max(inFlight.size + 1, 2));
      return Math.min(Math.max(perDestination, equal), maxPerDestination);
    },

    /** How many more deliveries each destination may have, for those where it is not the whole share. */
    room(): Map<string, number> {
      const share = this.share();
      const room = new Map<string, number>();
      for (const id of failuresInARow.keys()) if (isFailing(id)) room.set(id, FAILING_SLOTS);
      for (const [id, count] of inFlight) room.set(id, Math.max((isFailing(id) ? FAILING_SLOTS : share) - count, 0));
      return room;
    },

    take(id: string): void {
      inFlight.set(id, (inFlight.get(id) ?? 0) + 1);
    },

    free(id: string): void {
      const count = (inFlight.get(id) ?? 0) - 1;
      if (count > 0) inFlight.set(id, count);
      else inFlight.delete(id);
    },

    onHealthy(id: string): void {
      failuresInARow.delete(id);
    },

    onFailure(id: string): void {
      // Bounded: forgetting a failing destination only costs it some slots more until it fails again.
      if (failuresInARow.size >= MAX_REMEMBERED) failuresInARow.clear();
      failuresInARow.set(id, (failuresInARow.get(id) ?? 0) + 1);
    },
  };
}
