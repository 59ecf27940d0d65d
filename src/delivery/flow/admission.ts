import type { Logger } from 'pino';
import type { Queryable } from '../../database/client.ts';
import type { ClaimedDelivery, Verdict } from '../model/claimed-delivery.ts';
import type { DeliveryOutcome } from '../model/outcome.ts';
import type { Job } from '../send/jobs.ts';
import { paceOfJob } from '../send/pace.ts';
import {
  type Capacity,
  createConcurrencyLimiter,
  createDestinationCapacity,
  createShares,
  type OriginCapacity,
  type PacedCapacity,
} from './capacity.ts';
import { findChanged } from './changed-destinations.ts';
import { createBlocks, createCircuits, createThrottles } from './circuits.ts';
import { createJobSlots, createPacing } from './pacing.ts';
import { createUsage } from './usage.ts';

/**
 * Whether a job may be sent now: `go`, or a verdict to record instead of sending it. `closed` means that this process
 * is stopping.
 */
export type Admission = 'go' | 'closed' | Verdict;

/** How many deliveries can be claimed now; see `ClaimRequest`. */
export type ClaimCapacity = {
  limit: number;
  retryLimit: number;
  capacity: ReadonlyMap<string, number>;
  defaultCapacity: number;
  accountCapacity: Capacity;
  originCapacity: OriginCapacity;
};

export type AdmissionOptions = {
  db: Queryable;
  log: Logger;
  limits: {
    maxInFlight: number;
    perDestination: number;
    maxPerDestination: number;
    claimedAhead: number;
    maxPerOrigin: number;
    claimBatch: number;
  };
  /** The number of deliveries that this process holds. */
  slotsInUse: () => number;
  /** Wakes the claim loop when a destination may get more deliveries. */
  signal: { notifyIn(milliseconds: number): void };
  /** Notifies all processes that a destination whose requests must not overlap is free. */
  onReopened: () => void;
};

/**
 * Decides which deliveries may be sent now. Before a claim, this process must have a free slot, and there must be
 * capacity for the destination, its account, and its origin. Each job then needs a closed circuit and its turn at the
 * limiter. If the destination has a rate limit, the job also needs a slot. The slot comes last, so that nothing delays
 * the request after that, except while the connector's vendor is blocking this service.
 */
export function createAdmission({ db, log, limits, slotsInUse, signal, onReopened }: AdmissionOptions) {
  const { maxInFlight, maxPerDestination, claimedAhead, claimBatch } = limits;
  const circuits = createCircuits();
  const throttles = createThrottles();
  const blocks = createBlocks({ db, log });
  const pacing = createPacing({ db, log });
  const slots = createJobSlots({ pacing, onReopened });
  const limiter = createConcurrencyLimiter(maxPerDestination);
  const destinations = createDestinationCapacity(
    { ...limits, maxPerDestination: maxPerDestination + claimedAhead },
    [circuits, throttles],
    { slots: pacedCapacity },
  );
  const shares = createShares(limits);
  const usage = createUsage();

  const freeSlots = () => maxInFlight - slotsInUse();

  /**
   * Jobs that need a slot don't wait at the limiter, so no more of them may be claimed than the limiter can let
   * through.
   */
  function pacedCapacity(): Map<string, PacedCapacity> {
    const capacity = [...pacing.slots()].map(([id, { requests, deliveriesPerRequest }]) => {
      return [id, { requests: Math.min(requests, limiter.capacity(id)), deliveriesPerRequest }] as const;
    });
    return new Map(capacity);
  }

  /**
   * The maximum number of deliveries that one request may carry now. A claim may take this many to fill the request.
   */
  function largestBatch(): number {
    const open = [...pacedCapacity().values()].filter(({ requests }) => requests > 0);
    return Math.max(...open.map(({ deliveriesPerRequest }) => deliveriesPerRequest), 0);
  }

  function claimCapacity(): ClaimCapacity {
    const free = freeSlots();
    const capacity = destinations.capacity();
    const limit = Math.min(Math.max(Math.min(claimBatch, shares.mostAtOnce(free)), largestBatch()), free);
    const [accountCapacity, originCapacity] = [shares.accountCapacity(free), shares.originCapacity()];
    return {
      limit,
      capacity,
      accountCapacity,
      originCapacity,
      retryLimit: Math.min(destinations.retryCapacity(), limit),
      defaultCapacity: destinations.share(),
    };
  }

  function take(deliveries: readonly ClaimedDelivery[]): void {
    for (const delivery of deliveries) {
      circuits.learn(delivery.destination, delivery.circuitOpenSeconds);
      blocks.learn(delivery);
      destinations.take(delivery);
      shares.take(delivery);
      usage.add(delivery);
    }
  }

  function freeDestinations(deliveries: readonly ClaimedDelivery[]): void {
    for (const delivery of deliveries) destinations.free(delivery);
  }

  function freeShares(deliveries: readonly ClaimedDelivery[]): void {
    for (const delivery of deliveries) shares.free(delivery);
  }

  function admit(jobs: readonly Job[]): Promise<Admission>[] {
    const reserved = slots.reserve(jobs.filter((job) => !refusalOf(job) && paceOfJob(job) && limiter.tryEnter(job)));
    return jobs.map((job) => {
      const refusal = refusalOf(job);
      if (refusal) return Promise.resolve(refusal);
      return paceOfJob(job) ? atSlot(job, reserved.get(job)) : atLimiter(job);
    });
  }

  async function atLimiter(job: Job): Promise<Admission> {
    pacing.forget(destinationOf(job));
    const result = await limiter.enter(job);
    if (result === 'closed') return result;
    if (result === 'put_back') return { kind: 'wait', afterSeconds: 0 };
    return refusalOf(job) ?? blocks.enter(job);
  }

  async function atSlot(job: Job, slot: Promise<boolean> | undefined): Promise<Admission> {
    if (!(await slot)) return { kind: 'park', reason: 'rate_limited' };
    return refusalOf(job) ?? blocks.enter(job);
  }

  /** The reason why a job can't be sent now. This may change while the job waits. */
  function refusalOf(job: Job): Verdict | undefined {
    if (job.verdict) return job.verdict;
    if (isBroken(job)) return circuitOpen(job);
    return isThrottled(job) ? throttled(job) : blocks.refusalOf(job);
  }

  /** Whether the destination is broken. Manual deliveries are sent anyway. */
  function isBroken(job: Job): boolean {
    return !job.deliveries.every(isManual) && circuits.openSeconds(destinationOf(job)) > 0;
  }

  function circuitOpen(job: Job): Verdict {
    return { kind: 'wait', afterSeconds: circuits.openSeconds(destinationOf(job)), reason: 'circuit_open' };
  }

  /** Whether the destination is throttled. Manual deliveries are sent anyway. */
  function isThrottled(job: Job): boolean {
    return !job.deliveries.every(isManual) && throttles.closedSeconds(destinationOf(job)) > 0;
  }

  function throttled(job: Job): Verdict {
    return { kind: 'wait', afterSeconds: throttles.closedSeconds(destinationOf(job)), reason: 'rate_limited' };
  }

  function leave(job: Job, outcomes: readonly DeliveryOutcome[]): void {
    const destination = destinationOf(job);
    freeDestinations(job.deliveries);
    // A job without outcomes was abandoned, so its request may have been sent.
    const isUnsent = outcomes.length > 0 && outcomes.every(({ attempts }) => attempts.length === 0);
    void slots.leave(job, isUnsent);
    void blocks.leave(job, outcomes);
    const effects = new Set(outcomes.map(({ health }) => health?.kind));
    if (effects.has('disable') || effects.has('pause')) putBackWaiting(destination);
    // A batch counts as one request, because its members succeed and fail together.
    if (effects.has('healthy')) {
      circuits.onHealthy(destination);
      throttles.onHealthy(destination);
    }
    for (const { health, attempts } of outcomes)
      if (health?.kind === 'limited') limit(job.deliveries[0]!, health.afterSeconds, attempts[0]?.startedAt);
    if (effects.has('failing') && !effects.has('healthy')) circuits.onFailure(destination);
    limiter.leave(job);
  }

  function limit({ destination, account }: ClaimedDelivery, afterSeconds: number, since?: number): void {
    throttles.onLimited({ destination, account }, afterSeconds, since);
    signal.notifyIn(afterSeconds * 1000);
  }

  /**
   * Sends to destinations again that asked for a wait, but were changed since then. The wait can be as long as a day, and
   * was for the old address or credentials.
   */
  async function forgetChanged(): Promise<void> {
    const closed = throttles.closed();
    if (closed.size === 0) return;
    try {
      for (const id of await findChanged(db, closed)) throttles.forget(id);
    } catch (error) {
      log.debug({ err: error }, "couldn't check whether rate-limited destinations were changed; will check again");
    }
  }

  function putBackWaiting(destination: string): void {
    limiter.clear('put_back', destination);
  }

  return {
    freeSlots,
    claimCapacity,
    /** What each account has received lately. */
    usage: () => usage.current(shares.inFlight()),

    /** Counts claimed deliveries. Each is counted until its job leaves, and for its account, until `freeShares`. */
    take,

    /**
     * Decides whether each job may be sent, either immediately or when it's the job's turn. Call `leave` for every job
     * whose admission isn't `closed`.
     */
    admit,

    /** Whether a job may be retried immediately. False if it is rate limited or its destination is broken. */
    mayRetry: (job: Job): boolean => paceOfJob(job) === null && !circuits.isBroken(destinationOf(job)),

    /** Waits until a job may send another request. Returns false if the rest must be left for later. */
    nextSlot: slots.next,

    /** Call this with a job's outcomes when it is finished so that the next job gets its turn. */
    leave,

    /**
     * Call this when a job's leases are released, so that its account can use the slots. Until then, they aren't free,
     * and the account would take those that are left for others.
     */
    freeShares,

    /** Returns a disabled or paused destination's waiting jobs to the queue. */
    putBackWaiting,

    /** Stops all jobs from waiting. Returns their deliveries, which are no longer counted. */
    close(): ClaimedDelivery[] {
      slots.close();
      const deliveries = limiter.clear('closed').flatMap((job) => job.deliveries);
      freeDestinations(deliveries);
      freeShares(deliveries);
      return deliveries;
    },

    /** Reads changes that other processes made to destinations that have no free slot. */
    async refresh(): Promise<void> {
      await pacing.refresh();
      await forgetChanged();
    },
    /** Call this when this process is stopping, after its last request. */
    endAll: pacing.endAll,
    /** Seconds until the first of the given destinations has a free slot again. */
    reopensInSeconds: pacing.reopensInSeconds,
    brokenCount: circuits.brokenCount,
    /** How many more seconds a destination's circuit stays open; 0 when it is closed. */
    circuitOpenSeconds: circuits.openSeconds,
  };
}

const destinationOf = ({ deliveries }: Job) => deliveries[0]!.destination;
const isManual = ({ trigger, event }: ClaimedDelivery) => trigger === 'MANUAL' || event.test;
