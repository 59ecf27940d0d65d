import type pg from 'pg';
import type { Logger } from 'pino';
import type { createDestinations } from '../flow/destinations.ts';
import type { createShares } from '../flow/shares.ts';
import type { ClaimedDelivery } from '../model/claimed-delivery.ts';
import { type Claim, claimDeliveries } from './claim.ts';
import { createWakeSignal } from './wake-signal.ts';

export type ClaimLoopOptions = {
  pool: pg.Pool;
  log: Logger;
  destinations: ReturnType<typeof createDestinations>;
  shares: ReturnType<typeof createShares>;
  settings: { maxInFlight: number; claimBatch: number; leaseSeconds: number; pollMilliseconds: number };
  freeSlots: () => number;
  beforeClaim: () => Promise<void>;
  onClaimed: (deliveries: ClaimedDelivery[]) => void | Promise<void>;
  /** Told how long a claim took. */
  onClaim?: (seconds: number) => void;
  /** Told of every claim that failed. */
  onError?: () => void;
};

/** While there is more to take than room for it: how long slots are gathered before the next claim. */
const GATHER_MILLISECONDS = 20;
const MIN_BACKOFF_MILLISECONDS = 100;
const MAX_BACKOFF_MILLISECONDS = 5_000;
const LOG_EVERY_MILLISECONDS = 10_000;

/** Keeps the worker's slots filled: claims when told that something is due, when it falls due, and now and then. */
export function createClaimLoop(options: ClaimLoopOptions) {
  const { pool, log, destinations, shares, settings, freeSlots, onClaimed } = options;
  const { maxInFlight, claimBatch, leaseSeconds, pollMilliseconds } = settings;
  const enough = Math.ceil(Math.min(claimBatch, maxInFlight) / 2);
  const signal = createWakeSignal();
  let isRunning = true;
  let finished: Promise<void> = Promise.resolve();
  let isHungry = false;
  let freed = 0;
  let after = '';
  let alarm: { timer: NodeJS.Timeout; at: number } | undefined;

  async function claim(): Promise<Claim> {
    const room = destinations.room();
    const [accountRoom, originRoom] = [shares.accountRoom(freeSlots()), shares.originRoom()];
    const isCrowded = [room, accountRoom.known, originRoom.known].some(isUsedUp);
    const limit = Math.min(claimBatch, shares.mostAtOnce(freeSlots()));
    const retryLimit = Math.min(destinations.retryRoom(), limit);
    freed = 0;
    const startedAt = performance.now();
    const result = await claimDeliveries(pool, {
      limit,
      retryLimit,
      leaseSeconds,
      ...{ room, accountRoom, originRoom },
      defaultRoom: destinations.share(),
      ...(isCrowded && { after }),
    });
    options.onClaim?.((performance.now() - startedAt) / 1000);
    after = result.after;
    isHungry = result.hasMore || isCrowded || retryLimit < limit;
    return result;
  }

  /** Milliseconds until the next claim, unless something happens before. */
  function pauseAfter({ deliveries, hasMore, nextDueInMilliseconds }: Claim): number {
    if (hasMore && deliveries.length > 0 && freeSlots() >= enough) return 0;
    if (isHungry && freed >= enough) return 0;
    if (hasMore && freeSlots() > 0) return GATHER_MILLISECONDS;
    const poll = pollMilliseconds * (0.75 + Math.random() / 2);
    return nextDueInMilliseconds === null ? poll : Math.min(Math.ceil(nextDueInMilliseconds) + 1, poll);
  }

  async function run(): Promise<void> {
    let backoff = MIN_BACKOFF_MILLISECONDS;
    let loggedAt = Number.NEGATIVE_INFINITY;
    while (isRunning) {
      if (freeSlots() <= 0) {
        isHungry = true;
        await signal.wait(pollMilliseconds);
        continue;
      }
      try {
        await options.beforeClaim();
        const result = await claim();
        backoff = MIN_BACKOFF_MILLISECONDS;
        if (result.deliveries.length > 0) await onClaimed(result.deliveries);
        await signal.wait(pauseAfter(result));
      } catch (error) {
        options.onError?.();
        if (performance.now() - loggedAt > LOG_EVERY_MILLISECONDS) {
          loggedAt = performance.now();
          log.error({ err: error }, 'deliveries cannot be claimed, trying again');
        }
        await signal.wait(0);
        await pause(backoff);
        backoff = Math.min(backoff * 2, MAX_BACKOFF_MILLISECONDS);
      }
    }
  }

  /** Waits whatever is announced meanwhile, except the end. */
  async function pause(milliseconds: number): Promise<void> {
    const until = performance.now() + milliseconds * (0.5 + Math.random() / 2);
    while (isRunning && performance.now() < until) await signal.wait(until - performance.now());
  }

  function wakeIn(milliseconds: number): void {
    const at = performance.now() + milliseconds;
    if (!isRunning || milliseconds > pollMilliseconds || (alarm && alarm.at <= at)) return;
    clearTimeout(alarm?.timer);
    const ring = () => {
      alarm = undefined;
      signal.notify();
    };
    alarm = { timer: setTimeout(ring, Math.ceil(milliseconds) + 1), at };
  }

  return {
    run(): Promise<void> {
      finished = run();
      return finished;
    },
    wake: () => signal.notify(),
    /** So many requests are over, or (with 0) their results are written: there may be room for others. */
    onFreed(count: number): void {
      freed += count;
      if (!isHungry) return;
      if (freed >= enough || freeSlots() === maxInFlight) signal.notify();
      else wakeIn(GATHER_MILLISECONDS);
    },
    /** A delivery has been put back and falls due then; what is further off the claims find by themselves. */
    wakeIn,
    stop(): void {
      isRunning = false;
      clearTimeout(alarm?.timer);
      signal.notify();
    },
    finished: () => finished,
  };
}

/** Whether somebody has no room. */
function isUsedUp(room: ReadonlyMap<string, number>): boolean {
  return [...room.values()].some((slots) => slots <= 0);
}
