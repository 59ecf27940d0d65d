import type { ClaimedDelivery } from '../model/claimed-delivery.ts';

type Claimed = Pick<ClaimedDelivery, 'account' | 'origin'>;

/**
 * How many more deliveries each account or origin can have in flight. `known` lists the ones that already have some.
 */
export type Capacity = { known: ReadonlyMap<string, number>; others: number };

/** The capacity at each origin, and the part of it that each account with deliveries in flight there can use. */
export type OriginCapacity = Capacity & { shares: readonly { origin: string; account: string; slots: number }[] };

/**
 * An account's deliveries in flight are limited to this many times the number of free slots. If only one account is
 * busy, it can fill three-quarters of all slots.
 */
const TIMES_THE_FREE = 3;

/** The largest share of all slots that a single account can have. */
export const MOST_OF_ONE_ACCOUNT = TIMES_THE_FREE / (TIMES_THE_FREE + 1);

/**
 * Shares the worker's slots among accounts and origins.
 *
 * An account may have three times as many deliveries in flight as there are free slots. This lets it borrow the slots
 * that other accounts aren't using. The more accounts are busy, the fewer slots each one gets. Some slots always stay
 * free for the next account, because a slot can't be taken back before its request ends.
 *
 * An origin (scheme, host, and port) has a fixed limit across all accounts, so no host is flooded. Accounts share its
 * slots by the same rule. Otherwise, an account with many slow webhooks could fill them all and hold up every other
 * account with a webhook at that host.
 */
export function createShares({ maxPerOrigin }: { maxPerOrigin: number }) {
  const accounts = new Map<string, number>();
  /** The deliveries in flight to each origin, by account. */
  const origins = new Map<string, Map<string, number>>();

  return {
    /**
     * The maximum number of deliveries per claim: only some of the free slots, which leaves the rest for other
     * accounts.
     */
    mostAtOnce: (freeSlots: number): number => Math.ceil(freeSlots / (TIMES_THE_FREE + 1)),

    accountCapacity: (freeSlots: number): Capacity => ({
      known: new Map([...accounts].map(([account, count]) => [account, capacityFor(count, freeSlots)])),
      others: capacityFor(0, freeSlots),
    }),

    /** All accounts together can claim only as much as a new account, so that some of an origin's slots stay free. */
    originCapacity(): OriginCapacity {
      const known = new Map<string, number>();
      const shares: OriginCapacity['shares'][number][] = [];
      for (const [origin, counts] of origins) {
        const freeSlots = maxPerOrigin - sum(counts.values());
        known.set(origin, capacityFor(0, freeSlots));
        for (const [account, count] of counts) shares.push({ origin, account, slots: capacityFor(count, freeSlots) });
      }
      return { known, others: capacityFor(0, maxPerOrigin), shares };
    },

    take({ account, origin }: Claimed): void {
      add(accounts, account, 1);
      if (origin === null) return;
      const counts = origins.get(origin) ?? new Map<string, number>();
      add(counts, account, 1);
      origins.set(origin, counts);
    },

    free({ account, origin }: Claimed): void {
      add(accounts, account, -1);
      const counts = origin === null ? undefined : origins.get(origin);
      if (!counts) return;
      add(counts, account, -1);
      if (counts.size === 0) origins.delete(origin!);
    },
  };
}

/**
 * The maximum that an account with `count` deliveries in flight can claim without exceeding three times the slots that
 * are free afterward, rounded up.
 */
function capacityFor(count: number, freeSlots: number): number {
  return Math.max(Math.ceil((freeSlots * TIMES_THE_FREE - count) / (TIMES_THE_FREE + 1)), 0);
}

const sum = (counts: Iterable<number>) => [...counts].reduce((total, count) => total + count, 0);

function add(inFlight: Map<string, number>, id: string, change: 1 | -1): void {
  const count = (inFlight.get(id) ?? 0) + change;
  if (count > 0) inFlight.set(id, count);
  else inFlight.delete(id);
}
