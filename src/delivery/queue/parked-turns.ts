import type { ClaimRequest } from './claim-result.ts';

/** A destination that has parked deliveries, and its account if it is known. */
export type Parked = { destination: string; account: string | null };

/** How many of an account's destinations are looked at to find one with capacity. */
const MOST_TRIED_OF_ONE_ACCOUNT = 64;

/**
 * Chooses which parked destinations to visit next. Accounts take turns, and so do an account's destinations. Otherwise,
 * a destination whose rate limit has a free slot again would wait for visits to thousands of another account's.
 */
export function createParkedTurns() {
  /** Each account's parked destinations. In both, whoever has waited the longest comes first. */
  const accounts = new Map<string, Set<string>>();
  const accountOf = new Map<string, string>();

  function remove(destination: string): void {
    const account = accountOf.get(destination);
    if (account === undefined) return;
    accountOf.delete(destination);
    const own = accounts.get(account)!;
    own.delete(destination);
    if (own.size === 0) accounts.delete(account);
  }

  /** The account's next destination with capacity. Those that are tried go to the end. */
  function nextOf(own: Set<string>, hasCapacity: (destination: string) => boolean): string | undefined {
    let left = Math.min(own.size, MOST_TRIED_OF_ONE_ACCOUNT);
    for (const destination of own) {
      if (left-- === 0) break;
      own.delete(destination);
      own.add(destination);
      if (hasCapacity(destination)) return destination;
    }
    return undefined;
  }

  return {
    /** Adds destinations. A destination without a known account has no turn. */
    add(parked: readonly Parked[]): void {
      for (const { destination, account } of parked) {
        if (account === null || accountOf.get(destination) === account) continue;
        remove(destination);
        accountOf.set(destination, account);
        const own = accounts.get(account);
        if (own) own.add(destination);
        else accounts.set(account, new Set([destination]));
      }
    },

    /** Forgets all other destinations. */
    keep(destinations: ReadonlySet<string>): void {
      for (const destination of [...accountOf.keys()]) if (!destinations.has(destination)) remove(destination);
    },

    /** Returns up to `most` destinations that have capacity: of each account in turn, one after another. */
    next({ capacity, defaultCapacity, accountCapacity }: ClaimRequest, most: number): string[] {
      const hasCapacity = (destination: string) => (capacity.get(destination) ?? defaultCapacity) > 0;
      const slotsOf = (account: string) => accountCapacity?.known.get(account) ?? accountCapacity?.others ?? 1;
      const chosen = new Set<string>();
      const waiting = [...accounts.keys()].filter((account) => slotsOf(account) > 0);
      for (let index = 0; index < waiting.length && chosen.size < most; index++) {
        const account = waiting[index]!;
        const own = accounts.get(account)!;
        accounts.delete(account);
        accounts.set(account, own);
        const destination = nextOf(own, hasCapacity);
        if (destination === undefined || chosen.has(destination)) continue;
        chosen.add(destination);
        waiting.push(account);
      }
      return [...chosen];
    },
  };
}
