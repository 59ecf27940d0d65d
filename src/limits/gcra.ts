/** The outcome of asking for admission. Seconds are whole and rounded up. */
export type RateLimitResult = {
  allowed: boolean;
  /** Requests a minute, and the largest burst. */
  limit: number;
  /** How many more are admitted at this moment. */
  remaining: number;
  /** Until the whole limit is available again. */
  resetSeconds: number;
  /** Until the refused request is admitted, if nothing else is; 0 when it was admitted. */
  retryAfterSeconds: number;
};

/** What one request with this limit amounts to, in whole microseconds, so that no rounding ever adds up. */
export type GcraTerms = {
  limit: number;
  /** By how much the request moves the theoretical arrival time. */
  costMicroseconds: number;
  /** How far ahead of now the theoretical arrival time may be: the burst. */
  burstMicroseconds: number;
};

const MINUTE_MICROSECONDS = 60_000_000;

/**
 * The terms of the generic cell rate algorithm: the limit may be used at once, and comes back evenly over a minute.
 *
 * @param limitPerMinute at least 1.
 * @param cost how many requests it counts for; more than the limit counts as the limit, else it could never be admitted.
 */
export function gcraTerms(limitPerMinute: number, cost: number): GcraTerms {
  const limit = Math.max(1, Math.floor(limitPerMinute));
  const intervalMicroseconds = Math.max(1, Math.floor(MINUTE_MICROSECONDS / limit));
  return {
    limit,
    costMicroseconds: intervalMicroseconds * Math.min(cost, limit),
    burstMicroseconds: intervalMicroseconds * limit,
  };
}

/**
 * The result as callers are told it.
 *
 * @param aheadMicroseconds how far the stored theoretical arrival time is ahead of now, after the decision.
 */
export function gcraResult(terms: GcraTerms, allowed: boolean, aheadMicroseconds: number): RateLimitResult {
  const { limit, costMicroseconds, burstMicroseconds } = terms;
  const ahead = Math.max(0, aheadMicroseconds);
  return {
    allowed,
    limit,
    remaining: Math.max(0, Math.floor(((burstMicroseconds - ahead) * limit) / burstMicroseconds)),
    resetSeconds: wholeSeconds(ahead),
    retryAfterSeconds: allowed ? 0 : Math.max(1, wholeSeconds(ahead + costMicroseconds - burstMicroseconds)),
  };
}

function wholeSeconds(microseconds: number): number {
  return Math.ceil(microseconds / 1_000_000);
}

export type GcraTable = {
  /** Admits or refuses, and counts what is admitted. */
  take(key: string, limitPerMinute: number, cost: number): RateLimitResult;
  /** Gives back what a `take` with the same arguments has counted. */
  giveBack(key: string, limitPerMinute: number, cost: number): void;
};

/**
 * Arrival times in memory.
 *
 * @param now milliseconds of a clock that never steps back.
 * @param maxKeys bounds the memory: beyond it, the keys asked for least recently are forgotten.
 */
export function createGcraTable({ now, maxKeys }: { now: () => number; maxKeys: number }): GcraTable {
  // A Map remembers the order of insertion, and every use inserts anew: the first key is the least recently used.
  const arrivals = new Map<string, number>();

  function take(key: string, limitPerMinute: number, cost: number): RateLimitResult {
    const terms = gcraTerms(limitPerMinute, cost);
    const nowMicroseconds = Math.floor(now() * 1000);
    const arrival = Math.max(arrivals.get(key) ?? 0, nowMicroseconds);
    const next = arrival + terms.costMicroseconds;
    const allowed = next - nowMicroseconds <= terms.burstMicroseconds;
    const stored = allowed ? next : arrival;
    store(key, stored);
    return gcraResult(terms, allowed, stored - nowMicroseconds);
  }

  function giveBack(key: string, limitPerMinute: number, cost: number): void {
    const arrival = arrivals.get(key);
    if (arrival !== undefined) store(key, arrival - gcraTerms(limitPerMinute, cost).costMicroseconds);
  }

  function store(key: string, arrival: number): void {
    arrivals.delete(key);
    arrivals.set(key, arrival);
    if (arrivals.size > maxKeys) arrivals.delete(arrivals.keys().next().value!);
  }

  return { take, giveBack };
}
