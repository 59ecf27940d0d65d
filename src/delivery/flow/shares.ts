import type { ClaimedDelivery } from '../model/claimed-delivery.ts';

type Claimed = Pick<ClaimedDelivery, 'account' | 'origin'>;

/** How many more deliveries each account or origin may have in flight. `known` lists those that already have some. */
export type Room = { known: ReadonlyMap<string, number>; others: number };

/**
 * An account's deliveries in flight are limited to this number times the free slots. If only one account is busy, that
 * lets it fill three-quarters of all slots.
 */
const TIMES_THE_FREE = 3;

/** The largest share of all slots that a single account can have. */
export const MOST_OF_ONE_ACCOUNT = TIMES_THE_FREE / (TIMES_THE_FREE + 1);

/**
 * Shares the worker's slots among accounts and origins.
 *
 * An account may have three times as many deliveries in flight as there are free slots. That lends it the slots that
 * other accounts aren't using. The more accounts are busy, the fewer slots each one gets. Some slots always stay free
 * for the next account, because a slot can't be taken back before its request ends.
 *
 * An origin (scheme, host, and port) has a fixed limit across all accounts, so no host is flooded.
 */
export function createShares({ maxPerOrigin }: { maxPerOrigin: number }) {
  const accounts = new Map<string, number>();
  const origins = new Map<string, number>();

  return {
    /** How much may be claimed at once: only some of the free slots, so the rest are left for other accounts. */
    mostAtOnce: (freeSlots: number): number => Math.ceil(freeSlots / (TIMES_THE_FREE + 1)),

    /**
     * The maximum that an account can claim without exceeding three times the slots that are free afterward, rounded
     * up.
     */
    accountRoom(freeSlots: number): Room {
      const roomFor = (count: number) =>
        Math.max(Math.ceil((freeSlots * TIMES_THE_FREE - count) / (TIMES_THE_FREE + 1)), 0);
      return roomIn(accounts, roomFor);
    },

    originRoom: (): Room => roomIn(origins, (count) => Math.max(maxPerOrigin - count, 0)),

    take({ account, origin }: Claimed): void {
      add(accounts, account, 1);
      add(origins, origin, 1);
    },

    free({ account, origin }: Claimed): void {
      add(accounts, account, -1);
      add(origins, origin, -1);
    },
  };
}

function roomIn(inFlight: ReadonlyMap<string, number>, roomFor: (count: number) => number): Room {
  return { known: new Map([...inFlight].map(([id, count]) => [id, roomFor(count)])), others: roomFor(0) };
}

function add(inFlight: Map<string, number>, id: string, change: 1 | -1): void {
  const count = (inFlight.get(id) ?? 0) + change;
  if (count > 0) inFlight.set(id, count);
  else inFlight.delete(id);
}
