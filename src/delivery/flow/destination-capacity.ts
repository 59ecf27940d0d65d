import type { ClaimedDelivery } from '../model/claimed-delivery.ts';
import { MOST_OF_ONE_ACCOUNT } from './shares.ts';

type Claimed = Pick<ClaimedDelivery, 'destination' | 'attemptCount'>;

export type DestinationLimits = {
  /** This worker's slots. */
  maxInFlight: number;
  /** The guaranteed number of deliveries in flight for each destination. */
  perDestination: number;
  /** The maximum number of deliveries in flight for one destination. */
  maxPerDestination: number;
};

/** Limits for individual destinations. A negative number allows only manual deliveries, up to that many. */
export type Restrictions = { slots(): ReadonlyMap<string, number> };

/** How many more requests may start, and how many deliveries each of them carries. */
export type PacedCapacity = { requests: number; deliveriesPerRequest: number };

/** The part of an account's share that is reserved for first attempts, so retries never hold up new events. */
const FIRST_ATTEMPTS_SHARE = 1 / 4;

/**
 * Shares the worker's slots among destinations. Each may always have `perDestination` deliveries in flight. While few
 * other destinations are busy, it may have more: an equal share of all slots, with one share left free for a newcomer.
 * If there are several limits, the lowest one applies.
 *
 * @param restrictions the maximum number of deliveries that each destination may have in flight because of open
 *   circuits or throttling.
 * @param paces how many more requests each destination may get under its rate limit, in addition to those in flight. A
 *   request that carries many deliveries may exceed the destination's share, but no other limits.
 */
export function createDestinationCapacity(
  { maxInFlight, perDestination, maxPerDestination }: DestinationLimits,
  restrictions: readonly Restrictions[] = [],
  paces?: { slots(): ReadonlyMap<string, PacedCapacity> },
) {
  // A worker with a single slot must send retries too.
  const maxRetries = Math.max(Math.floor(maxInFlight * MOST_OF_ONE_ACCOUNT * (1 - FIRST_ATTEMPTS_SHARE)), 1);
  const inFlight = new Map<string, number>();
  let retriesInFlight = 0;

  return {
    /** A destination's share, before its own limits apply. */
    share(): number {
      const equal = Math.floor(maxInFlight / Math.max(inFlight.size + 1, 2));
      return Math.min(Math.max(perDestination, equal), maxPerDestination);
    },

    /** How many more deliveries each destination can have. Destinations that can use their entire share are omitted. */
    capacity(): Map<string, number> {
      const share = this.share();
      const most = new Map<string, number>();
      for (const restriction of restrictions)
        for (const [id, slots] of restriction.slots()) most.set(id, Math.min(slots, most.get(id) ?? share));
      const capacity = new Map([...most].filter(([id]) => !inFlight.has(id)));
      for (const [id, count] of inFlight) {
        const slots = most.get(id) ?? share;
        capacity.set(id, slots < 0 ? Math.min(slots + count, 0) : Math.max(slots - count, 0));
      }
      for (const [id, { requests, deliveriesPerRequest }] of paces?.slots() ?? []) {
        const left = capacity.get(id) ?? share;
        const mostAtOnce = most.has(id) ? left : Math.max(left, deliveriesPerRequest);
        capacity.set(id, Math.min(requests * deliveriesPerRequest, mostAtOnce));
      }
      return capacity;
    },

    /** How many more retries can be claimed. */
    retryCapacity: (): number => Math.max(maxRetries - retriesInFlight, 0),

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
