import type pg from 'pg';
import type { Logger } from 'pino';
import type { createAdmission } from '../flow/admission.ts';
import type { ClaimedDelivery } from '../model/claimed-delivery.ts';
import type { DeliveryMetrics } from '../model/delivery-metrics.ts';
import { type ClaimResult, claimDeliveries } from './claim.ts';
import type { createLeases } from './leases.ts';
import type { WakeSignal } from './wake-signal.ts';

export type ClaimLoopOptions = {
  pool: pg.Pool;
  log: Logger;
  admission: Pick<ReturnType<typeof createAdmission>, 'freeSlots' | 'claimRoom'>;
  leases: Pick<ReturnType<typeof createLeases>, 'prolong'>;
  signal: WakeSignal;
  metrics?: DeliveryMetrics | undefined;
  settings: { maxInFlight: number; claimBatch: number; leaseSeconds: number; pollMilliseconds: number };
};

/** How long to wait for free slots before the next claim when more deliveries are due than fit. */
const GATHER_MILLISECONDS = 20;
const MIN_BACKOFF_MILLISECONDS = 100;
const MAX_BACKOFF_MILLISECONDS = 5_000;
const LOG_EVERY_MILLISECONDS = 10_000;

/** Keeps the worker's slots filled. Claims when signaled, when a delivery is due, and periodically. */
export function createClaimLoop(options: ClaimLoopOptions) {
  const { pool, log, admission, leases, signal, metrics, settings } = options;
  const { maxInFlight, claimBatch, leaseSeconds, pollMilliseconds } = settings;
  const enough = Math.ceil(Math.min(claimBatch, maxInFlight) / 2);
  let isRunning = true;
  let isHungry = false;
  let freed = 0;
  let after = '';
  let backoff = MIN_BACKOFF_MILLISECONDS;
  let loggedAt = Number.NEGATIVE_INFINITY;

  async function claim(): Promise<ClaimResult> {
    const { isCrowded, ...room } = admission.claimRoom();
    freed = 0;
    const startedAt = performance.now();
    const result = await claimDeliveries(pool, { ...room, leaseSeconds, ...(isCrowded && { after }) });
    metrics?.onClaim((performance.now() - startedAt) / 1000);
    after = result.after;
    isHungry = result.hasMore || isCrowded || room.retryLimit < room.limit;
    return result;
  }

  async function tryClaim(): Promise<ClaimResult | undefined> {
    try {
      // If this process was suspended for a while, its own deliveries would look abandoned.
      await leases.prolong();
      const result = await claim();
      backoff = MIN_BACKOFF_MILLISECONDS;
      return result;
    } catch (error) {
      metrics?.onQueueError('claim');
      if (performance.now() - loggedAt > LOG_EVERY_MILLISECONDS) {
        loggedAt = performance.now();
        log.error({ err: error }, "can't claim deliveries, retrying");
      }
      return undefined;
    }
  }

  /** Milliseconds until the next claim, unless the signal comes first. */
  function pauseAfter({ deliveries, hasMore, nextDueInMilliseconds }: ClaimResult): number {
    const freeSlots = admission.freeSlots();
    if (hasMore && deliveries.length > 0 && freeSlots >= enough) return 0;
    if (isHungry && freed >= enough) return 0;
    if (hasMore && freeSlots > 0) return GATHER_MILLISECONDS;
    const poll = pollMilliseconds * (0.75 + Math.random() / 2);
    return nextDueInMilliseconds === null ? poll : Math.min(Math.ceil(nextDueInMilliseconds) + 1, poll);
  }

  /** Waits the whole time, even when signaled. Only `stop` cuts it short. */
  async function backOff(): Promise<void> {
    await signal.wait(0);
    const until = performance.now() + backoff * (0.5 + Math.random() / 2);
    backoff = Math.min(backoff * 2, MAX_BACKOFF_MILLISECONDS);
    while (isRunning && performance.now() < until) await signal.wait(until - performance.now());
  }

  return {
    /** Yields deliveries as they are claimed, until `stop`. */
    async *claims(): AsyncGenerator<ClaimedDelivery[], void> {
      while (isRunning) {
        if (admission.freeSlots() <= 0) {
          isHungry = true;
          await signal.wait(pollMilliseconds);
          continue;
        }
        const result = await tryClaim();
        if (!result) {
          await backOff();
          continue;
        }
        if (result.deliveries.length > 0) yield result.deliveries;
        await signal.wait(pauseAfter(result));
      }
    },

    /**
     * Call this when this many requests have ended or, with 0, when results have been written. There may be room for
     * more.
     */
    onFreed(count: number): void {
      freed += count;
      if (!isHungry) return;
      if (freed >= enough || admission.freeSlots() === maxInFlight) signal.notify();
      else signal.notifyIn(GATHER_MILLISECONDS);
    },

    stop(): void {
      isRunning = false;
      signal.close();
    },
  };
}
