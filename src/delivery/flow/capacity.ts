import type { ClaimedDelivery } from '../model/claimed-delivery.ts';
import type { Job } from '../send/jobs.ts';

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

/** The part of all slots that only accounts with few deliveries in flight can use. */
const RESERVED_SHARE = 1 / 64;

/** How many deliveries an account may have in flight as long as any slot is free. */
export const ALWAYS_ALLOWED = 2;

/** The largest share of all slots that a single account can have. */
const MOST_OF_ONE_ACCOUNT = TIMES_THE_FREE / (TIMES_THE_FREE + 1);

/**
 * Shares the worker's slots among accounts and origins.
 *
 * An account may have three times as many deliveries in flight as there are free slots. This lets it borrow the slots
 * that other accounts aren't using. The more accounts are busy, the fewer slots each one gets. Some slots stay free for
 * the next account, because a slot can't be taken back before its request ends. The last ones are only for accounts with
 * hardly any deliveries in flight. Otherwise, six accounts with slow destinations would fill them all.
 *
 * An origin (scheme, host, and port) has a fixed limit across all accounts, so no host is flooded. Accounts share its
 * slots by the same rule. Otherwise, an account with many slow webhooks could fill them all and hold up every other
 * account with a webhook at that host.
 */
export function createShares({ maxInFlight, maxPerOrigin }: { maxInFlight: number; maxPerOrigin: number }) {
  const reserved = Math.floor(maxInFlight * RESERVED_SHARE);
  const accounts = new Map<string, number>();
  /** The deliveries in flight to each origin, by account. */
  const origins = new Map<string, Map<string, number>>();

  /** Negative for an account that has more than its share, so its deliveries are in the way. */
  function accountSlots(count: number, freeSlots: number): number {
    const slots = Math.max(capacityFor(count, freeSlots - reserved), Math.min(ALWAYS_ALLOWED - count, freeSlots));
    if (slots > 0) return slots;
    return count > ALWAYS_ALLOWED ? -1 : 0;
  }

  return {
    /** The deliveries in flight, by account. */
    inFlight: (): ReadonlyMap<string, number> => accounts,

    /**
     * The maximum number of deliveries per claim: only some of the free slots, which leaves the rest for other
     * accounts.
     */
    mostAtOnce: (freeSlots: number): number => Math.ceil(freeSlots / (TIMES_THE_FREE + 1)),

    accountCapacity: (freeSlots: number): Capacity => ({
      known: new Map([...accounts].map(([account, count]) => [account, accountSlots(count, freeSlots)])),
      others: accountSlots(0, freeSlots),
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

    take({ account, origin }: Pick<ClaimedDelivery, 'account' | 'origin'>): void {
      add(accounts, account, 1);
      if (origin === null) return;
      const counts = origins.get(origin) ?? new Map<string, number>();
      add(counts, account, 1);
      origins.set(origin, counts);
    },

    free({ account, origin }: Pick<ClaimedDelivery, 'account' | 'origin'>): void {
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

    take({ destination, attemptCount }: Pick<ClaimedDelivery, 'destination' | 'attemptCount'>): void {
      inFlight.set(destination, (inFlight.get(destination) ?? 0) + 1);
      if (attemptCount > 0) retriesInFlight++;
    },

    free({ destination, attemptCount }: Pick<ClaimedDelivery, 'destination' | 'attemptCount'>): void {
      const count = (inFlight.get(destination) ?? 0) - 1;
      if (count > 0) inFlight.set(destination, count);
      else inFlight.delete(destination);
      if (attemptCount > 0) retriesInFlight--;
    },
  };
}

/** How waiting at the limiter ends: the job may be sent, it goes back to the queue, or the process is stopping. */
export type EnterResult = 'go' | 'put_back' | 'closed';

type Waiting = { job: Job; resolve: (result: EnterResult) => void };

/**
 * Lets at most `most` requests to a destination run at the same time. More deliveries than that are claimed, because a
 * few large claims cost the database less than many small ones. The rest wait here.
 */
export function createConcurrencyLimiter(most: number) {
  const inside = new Set<Job>();
  const counts = new Map<string, number>();
  const waiting = new Map<string, Waiting[]>();

  const capacity = (destination: string) => most - (counts.get(destination) ?? 0);

  /** Lets the job through if there is capacity. */
  function tryEnter(job: Job): boolean {
    const { destination } = job.deliveries[0]!;
    if (capacity(destination) === 0) return false;
    counts.set(destination, (counts.get(destination) ?? 0) + 1);
    inside.add(job);
    return true;
  }

  return {
    /** How many more requests to a destination may run. */
    capacity,

    tryEnter,

    /** Resolves when the job may be sent, or when the job is cleared. */
    enter(job: Job): Promise<EnterResult> {
      if (tryEnter(job)) return Promise.resolve('go');
      const { destination } = job.deliveries[0]!;
      const { promise, resolve } = Promise.withResolvers<EnterResult>();
      const queue = waiting.get(destination);
      if (queue) queue.push({ job, resolve });
      else waiting.set(destination, [{ job, resolve }]);
      return promise;
    },

    /** Call this when a job's request has ended so the next one can start. Does nothing for a job that hasn't been let
     * through. */
    leave(job: Job): void {
      if (!inside.delete(job)) return;
      const { destination } = job.deliveries[0]!;
      const queue = waiting.get(destination);
      const next = queue?.shift();
      if (queue?.length === 0) waiting.delete(destination);
      if (next) {
        inside.add(next.job);
        next.resolve('go');
        return;
      }
      const count = counts.get(destination)! - 1;
      if (count > 0) counts.set(destination, count);
      else counts.delete(destination);
    },

    /** Stops all jobs from waiting, or only one destination's jobs, and returns the jobs that were waiting. */
    clear(result: Exclude<EnterResult, 'go'>, destination?: string): Job[] {
      const cleared = destination === undefined ? [...waiting.values()].flat() : (waiting.get(destination) ?? []);
      if (destination === undefined) waiting.clear();
      else waiting.delete(destination);
      for (const { resolve } of cleared) resolve(result);
      return cleared.map(({ job }) => job);
    },
  };
}
