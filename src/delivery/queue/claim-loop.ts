import type pg from 'pg';
import type { Logger } from 'pino';
import type { WakeSignal } from '../../wake-signal.ts';
import type { createAdmission } from '../flow/admission.ts';
import type { ClaimedDelivery } from '../model/claimed-delivery.ts';
import type { DeliveryMetrics } from '../model/delivery-metrics.ts';
import { claimDue } from './claim.ts';
import type { ClaimResult } from './claim-result.ts';
import type { createLeases } from './leases.ts';
import { createLowWaterMark } from './low-water-mark.ts';
import type { Parked } from './parked-turns.ts';
import { createParking } from './parking.ts';
import { claimInTurn } from './turns.ts';

export type ClaimLoopOptions = {
  pool: pg.Pool;
  log: Logger;
  admission: Pick<
    ReturnType<typeof createAdmission>,
    'freeSlots' | 'claimCapacity' | 'usage' | 'reopensInSeconds' | 'refresh'
  >;
  leases: Pick<ReturnType<typeof createLeases>, 'prolong'>;
  signal: WakeSignal;
  /** Whether a hint with this turn is for this worker. */
  isOwnTurn: (turn: number | undefined) => boolean;
  /** Whether nothing may be claimed now. */
  isOnHold: () => boolean;
  metrics?: DeliveryMetrics | undefined;
  settings: { maxInFlight: number; claimBatch: number; leaseSeconds: number; pollMilliseconds: number };
};

/** How long to wait for free slots before the next claim when more deliveries are due than there are free slots. */
const GATHER_MILLISECONDS = 20;
/** How soon to check for deliveries announced to another worker, in case that worker is full or has stopped. */
const OTHERS_TURN_MILLISECONDS = 250;
/**
 * How many deliveries a claim looks at, of first attempts and of retries, if the one before it found some without
 * capacity. There may be thousands of destinations like that, and only a few free slots.
 */
const MOST_READ_IF_BLOCKED = 1_000;
/** After a claim in turn, other claims get at least this many times as long. */
const MIN_PAUSES_BETWEEN_TURNS = 2;
const MIN_BACKOFF_MILLISECONDS = 100;
const MAX_BACKOFF_MILLISECONDS = 5_000;
const LOG_EVERY_MILLISECONDS = 10_000;

/** The combined results of one round of claims. */
type Round = Pick<ClaimResult, 'hasMore' | 'nextDueInMilliseconds'> & { count: number };

const NOTHING: ClaimResult = { deliveries: [], hasMore: false, nextDueInMilliseconds: null };

/** Keeps the worker's slots filled. Claims when signaled, when a delivery is due, and periodically. */
export function createClaimLoop(options: ClaimLoopOptions) {
  const { pool, log, admission, leases, signal, metrics, settings } = options;
  const { maxInFlight, claimBatch, leaseSeconds, pollMilliseconds } = settings;
  const enough = Math.ceil(Math.min(claimBatch, maxInFlight) / 2);
  const parking = createParking(pool);
  const mark = createLowWaterMark();
  let isRunning = true;
  let isHungry = false;
  let isHinted = false;
  let isRetryLimited = false;
  /** Whether the last claim from the queue may have left due deliveries there. */
  let isFull = false;
  /** Whether that claim found deliveries without capacity. */
  let isBlocked = false;
  /** When the next claim in turn may start. */
  let nextTurnAt = 0;
  let freed = 0;
  let backoff = MIN_BACKOFF_MILLISECONDS;
  let loggedAt = Number.NEGATIVE_INFINITY;

  /** Claims parked deliveries that have capacity now, after parking what can't be claimed. */
  async function claimParked(): Promise<ClaimResult> {
    await parking.park(mark.start());
    const capacity = admission.claimCapacity();
    if (capacity.limit === 0) return { ...NOTHING, hasMore: true };
    if (!parking.isToBeVisited()) return { ...NOTHING, hasMore: !parking.isDone() };
    const result = await timed(parking.claim({ ...capacity, leaseSeconds }));
    return { ...result, hasMore: result.hasMore || !parking.isDone() };
  }

  /** Claims from the queue. Deliveries that are in the way because they have no capacity are parked afterward. */
  async function claimQueued(): Promise<ClaimResult> {
    const capacity = admission.claimCapacity();
    if (capacity.limit === 0) return { ...NOTHING, hasMore: true };
    const passOver = parking.destinations();
    const mostRead = isBlocked ? Math.max(capacity.limit, MOST_READ_IF_BLOCKED) : capacity.limit;
    const request = { ...capacity, leaseSeconds };
    const run = (marks: readonly number[]) => timed(claimDue(pool, request, { passOver, marks, mostRead }));
    const options = {
      isHinted,
      mayMove: parking.isDone(),
      limits: [capacity.limit, Math.min(capacity.limit, capacity.retryLimit)],
    };
    // This is reset before the claim, because a hint that arrives during the claim may announce something else.
    isHinted = false;
    const result = await mark.claim(run, options);
    parking.add(result.leftOut);
    isRetryLimited = capacity.retryLimit < capacity.limit;
    // While not everything is parked, the claim looked only at recent deliveries.
    isFull = result.hasMore || !options.mayMove;
    isBlocked = result.leftOut.length > 0;
    return result;
  }

  /** While the queue is full, claims deliveries of accounts that have received fewer than others. */
  async function claimOthers(): Promise<ClaimResult> {
    const usage = admission.usage();
    const startedAt = performance.now();
    if (!isFull || !usage || startedAt < nextTurnAt) return NOTHING;
    const capacity = admission.claimCapacity();
    if (capacity.limit === 0) return NOTHING;
    const options = { passOver: parking.destinations(), marks: mark.start() };
    const result = await timed(claimInTurn(pool, { ...capacity, leaseSeconds }, usage, options));
    nextTurnAt = performance.now() + (performance.now() - startedAt) * MIN_PAUSES_BETWEEN_TURNS;
    parking.add(result.leftOut);
    return result;
  }

  async function timed<T>(claim: Promise<T>): Promise<T> {
    const startedAt = performance.now();
    const result = await claim;
    metrics?.onClaim((performance.now() - startedAt) / 1000);
    return result;
  }

  async function tryClaim(claim: () => Promise<ClaimResult>): Promise<ClaimResult | undefined> {
    try {
      // Leases are extended first: if this process was suspended for a while, its own deliveries would otherwise look
      // abandoned.
      await leases.prolong();
      const result = await claim();
      backoff = MIN_BACKOFF_MILLISECONDS;
      return result;
    } catch (error) {
      metrics?.onQueueError('claim');
      if (performance.now() - loggedAt > LOG_EVERY_MILLISECONDS) {
        loggedAt = performance.now();
        log.error({ err: error }, "can't claim deliveries; retrying");
      }
      return undefined;
    }
  }

  /** Milliseconds until the next round, unless a signal comes first. */
  function pauseAfter({ count, hasMore, nextDueInMilliseconds }: Round): number {
    const freeSlots = admission.freeSlots();
    if (hasMore && count > 0 && freeSlots >= enough) return 0;
    if (isHungry && freed >= enough) return 0;
    if (hasMore && freeSlots > 0) return GATHER_MILLISECONDS;
    const poll = pollMilliseconds * (0.75 + Math.random() / 2);
    const reopensInMilliseconds = admission.reopensInSeconds(parking.destinations()) * 1000;
    const next = Math.min(nextDueInMilliseconds ?? poll, reopensInMilliseconds);
    return Math.min(Math.ceil(next) + 1, poll);
  }

  /** Waits the whole time, even when signaled. Only `stop` cuts it short. */
  async function backOff(): Promise<void> {
    await signal.wait(0);
    const until = performance.now() + backoff * (0.5 + Math.random() / 2);
    backoff = Math.min(backoff * 2, MAX_BACKOFF_MILLISECONDS);
    while (isRunning && performance.now() < until) await signal.wait(until - performance.now());
  }

  /**
   * Call this when `count` requests have ended, or with 0 when results have been written. Both can make room for more
   * deliveries.
   */
  function onFreed(count: number): void {
    freed += count;
    if (!isHungry) return;
    if (freed >= enough || admission.freeSlots() === maxInFlight) signal.notify();
    else signal.notifyIn(GATHER_MILLISECONDS);
  }

  return {
    /** Yields deliveries as they are claimed, until `stop`. */
    async *claims(): AsyncGenerator<ClaimedDelivery[], void> {
      while (isRunning) {
        if (options.isOnHold()) {
          await signal.wait(pollMilliseconds);
          continue;
        }
        if (admission.freeSlots() <= 0) {
          isHungry = true;
          await signal.wait(pollMilliseconds);
          continue;
        }
        freed = 0;
        const round: Round = { count: 0, hasMore: false, nextDueInMilliseconds: null };
        let hasFailed = false;
        for (const claim of [claimQueued, claimOthers, claimParked]) {
          const result = await tryClaim(claim);
          hasFailed = !result;
          if (!result) break;
          round.count += result.deliveries.length;
          round.hasMore ||= result.hasMore;
          round.nextDueInMilliseconds ??= result.nextDueInMilliseconds;
          if (result.deliveries.length > 0) yield result.deliveries;
        }
        if (hasFailed) {
          await backOff();
          continue;
        }
        isHungry = round.hasMore || isRetryLimited || parking.destinations().length > 0;
        await signal.wait(pauseAfter(round));
      }
    },

    /** Call this when a hint announces due deliveries. If another worker acts on it, this one checks a little later. */
    onHint(turn?: number): void {
      if (options.isOwnTurn(turn)) {
        isHinted = true;
        signal.notify();
      } else {
        signal.notifyIn(OTHERS_TURN_MILLISECONDS);
      }
    },

    /** Call this when deliveries to these destinations have been parked because no slot is free. */
    onParked(parked: readonly Parked[]): void {
      parking.add(parked);
      const reopensInSeconds = admission.reopensInSeconds(parked.map(({ destination }) => destination));
      signal.notifyIn(Number.isFinite(reopensInSeconds) ? reopensInSeconds * 1000 : GATHER_MILLISECONDS);
    },

    onFreed,

    /** Call this when rate limits may have changed, and periodically. There may be room for more deliveries. */
    async onPaces(): Promise<void> {
      await admission.refresh();
      onFreed(0);
    },

    stop(): void {
      isRunning = false;
      signal.close();
    },
  };
}
