import type { ClaimedDelivery } from '../model/claimed-delivery.ts';

type Claimed = Pick<ClaimedDelivery, 'account' | 'origin'>;

/** How many more deliveries each account or origin may have: those that have some in flight, and any other. */
export type Room = { known: ReadonlyMap<string, number>; others: number };

/** An account may have so many times the slots that are free. Alone it has three quarters of all, then. */
const TIMES_THE_FREE = 3;

/** The most of all slots that a single account can have. */
export const MOST_OF_ONE_ACCOUNT = TIMES_THE_FREE / (TIMES_THE_FREE + 1);

/**
 * Shares the worker's slots among accounts and origins.
 *
 * An account may have three times as many slots in flight as are free. So what others do not use is lent, the more
 * accounts are busy the less each may have, and some slots are always free for the next one: what is lent cannot be taken
 * back, since a request may take until its timeout.
 *
 * An origin (scheme, host and port) may have so many and no more, whoever sends there: nobody's host is flooded.
 */
export function createShares({ maxPerOrigin }: { maxPerOrigin: number }) {
  const accounts = new Map<string, number>();
  const origins = new Map<string, number>();

  return {
    /** What may be claimed at once: little of what is free, so that accounts that claim together leave some for others. */
    mostAtOnce: (freeSlots: number): number => Math.ceil(freeSlots / (TIMES_THE_FREE + 1)),

    /** So many more that the account has at most three times the slots that are free then, but at least one. */
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
