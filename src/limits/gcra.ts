import { createLru } from '../lru.ts';

/** Whether a request is allowed, and the state of its limit. Seconds are rounded up. */
export type RateLimitResult = {
  allowed: boolean;
  /** Requests per minute, which is also the largest burst. */
  limit: number;
  /** How many more requests are allowed right now. */
  remaining: number;
  /** Seconds until the whole limit is available again. */
  resetSeconds: number;
  /** Seconds until a rejected request would be allowed; 0 for a request that was allowed. */
  retryAfterSeconds: number;
};

/** The parameters for a request with this limit, in whole microseconds so that rounding errors can't add up. */
export type GcraParameters = {
  limit: number;
  /** How far the request moves the theoretical arrival time. */
  costMicroseconds: number;
  /** How far ahead of now the theoretical arrival time may be: the burst. */
  burstMicroseconds: number;
  /** How far ahead of now requests above the limit may move it: far enough that the next one has to wait a minute. */
  maxAheadMicroseconds: number;
};

const MINUTE_MICROSECONDS = 60_000_000;

/**
 * The parameters of the generic cell rate algorithm: the whole limit is available immediately and refills evenly over a
 * minute.
 *
 * @param limitPerMinute at least 1.
 * @param cost how many requests this one counts for. Capped at the limit, because a higher cost could never be allowed.
 */
export function gcraParameters(limitPerMinute: number, cost: number): GcraParameters {
  const limit = Math.max(1, Math.floor(limitPerMinute));
  const intervalMicroseconds = Math.max(1, Math.floor(MINUTE_MICROSECONDS / limit));
  const costMicroseconds = intervalMicroseconds * Math.min(cost, limit);
  const burstMicroseconds = intervalMicroseconds * limit;
  return { limit, costMicroseconds, burstMicroseconds, maxAheadMicroseconds: 2 * burstMicroseconds - costMicroseconds };
}

/**
 * The decision as the caller sees it.
 *
 * @param aheadMicroseconds how far the stored theoretical arrival time is ahead of now, after the decision.
 */
export function gcraResult(parameters: GcraParameters, allowed: boolean, aheadMicroseconds: number): RateLimitResult {
  const { limit, costMicroseconds, burstMicroseconds } = parameters;
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
  /** Allows or rejects a request, and counts it if allowed. */
  take(key: string, limitPerMinute: number, cost: number): RateLimitResult;
  /** Counts a request that can't be rejected anymore. */
  record(key: string, limitPerMinute: number): RateLimitResult;
  /** Reverts a `take` with the same arguments. */
  giveBack(key: string, limitPerMinute: number, cost: number): void;
};

/**
 * Keeps arrival times in memory.
 *
 * @param now returns the time of a monotonic clock, in milliseconds.
 * @param maxKeys limits memory: above this number, the least recently used keys are forgotten.
 */
export function createGcraTable({ now, maxKeys }: { now: () => number; maxKeys: number }): GcraTable {
  const arrivals = createLru<number>(maxKeys);

  function take(key: string, limitPerMinute: number, cost: number): RateLimitResult {
    const parameters = gcraParameters(limitPerMinute, cost);
    const nowMicroseconds = Math.floor(now() * 1000);
    const arrival = Math.max(arrivals.get(key) ?? 0, nowMicroseconds);
    const next = arrival + parameters.costMicroseconds;
    const allowed = next - nowMicroseconds <= parameters.burstMicroseconds;
    const stored = allowed ? next : arrival;
    arrivals.set(key, stored);
    return gcraResult(parameters, allowed, stored - nowMicroseconds);
  }

  function record(key: string, limitPerMinute: number): RateLimitResult {
    const parameters = gcraParameters(limitPerMinute, 1);
    const nowMicroseconds = Math.floor(now() * 1000);
    const next = Math.max(arrivals.get(key) ?? 0, nowMicroseconds) + parameters.costMicroseconds;
    const ahead = Math.min(next - nowMicroseconds, parameters.maxAheadMicroseconds);
    arrivals.set(key, nowMicroseconds + ahead);
    return gcraResult(parameters, ahead <= parameters.burstMicroseconds, ahead);
  }

  function giveBack(key: string, limitPerMinute: number, cost: number): void {
    const arrival = arrivals.get(key);
    if (arrival !== undefined) arrivals.set(key, arrival - gcraParameters(limitPerMinute, cost).costMicroseconds);
  }

  return { take, record, giveBack };
}
