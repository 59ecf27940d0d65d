import type { ClaimedDelivery } from '../model/claimed-delivery.ts';
import { MOST_OF_ONE_ACCOUNT } from './shares.ts';

type Claimed = Pick<ClaimedDelivery, 'destination' | 'attemptCount'>;

export type DestinationLimits = {
  /** Slots of the worker. */
  maxInFlight: number;
  /** What a destination may always have in flight. */
  perDestination: number;
  /** What it may have in flight at most. */
  maxPerDestination: number;
};

/** What is known of single destinations; negative: only what is asked for by hand. */
export type Restrictions = { slots(): ReadonlyMap<string, number> };

/** Of what an account may have, the part kept for first tries: however many retries are due, its new events go out. */
const FIRST_TRIES_SHARE = 1 / 4;

/**
 * Shares the worker's slots among destinations. Each may always have `perDestination` in flight, and more while few
 * others are busy: an equal share of all slots, with one share left free for a newcomer. Where a destination is
 * restricted, the least counts.
 *
 * @param restrictions the most that destinations may have in flight (their circuits are open).
 * @param paces the most they may be given more, whatever they have in flight (they have a limit of their own).
 */
export function createDestinationRoom(
  { maxInFlight, perDestination, maxPerDestination }: DestinationLimits,
  restrictions: readonly Restrictions[] = [],
  paces?: Restrictions,
) {
  // A worker with a single slot has to send retries too.
  const maxRetries = Math.max(Math.floor(maxInFlight * MOST_OF_ONE_ACCOUNT * (1 - FIRST_TRIES_SHARE)), 1);
  const inFlight = new Map<string, number>();
  let retriesInFlight = 0;

  return {
    /** The share of a destination of which nothing is known. */
    share(): number {
      const equal = Math.floor(maxInFlight / Math.max(inFlight.size + 1, 2));
      return Math.min(Math.max(perDestination, equal), maxPerDestination);
    },

    /** How many more deliveries each destination may have, for those where it is not the whole share. */
    room(): Map<string, number> {
      const share = this.share();
      const most = new Map<string, number>();
      for (const restriction of restrictions)
        for (const [id, slots] of restriction.slots()) most.set(id, Math.min(slots, most.get(id) ?? share));
      const room = new Map([...most].filter(([id]) => !inFlight.has(id)));
      for (const [id, count] of inFlight) {
        const slots = most.get(id) ?? share;
        room.set(id, slots < 0 ? Math.min(slots + count, 0) : Math.max(slots - count, 0));
      }
      for (const [id, slots] of paces?.slots() ?? []) room.set(id, Math.min(slots, room.get(id) ?? share));
      return room;
    },

    /** How many more deliveries that were tried before may be taken. */
    retryRoom: (): number => Math.max(maxRetries - retriesInFlight, 0),

    take({ destination, attemptCount }: Claimed): void {
      inFlight.set(destination, (inFlight.get(destination) ?? 0) + 1);
      if (attemptCount > 0) retriesInFlight++;
    },

    free({ destination, attemptCount }: Claimed): void {
      const count = (inFlight.get(destination) ?? 0) - 1;
      if (count > 0) inFlight.set(destination, count);
      else inFlight.delete(destination);
      if (attemptCount > 0) retriesInFlight--;
    },
  };
}
