import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Queryable } from '../../database/client.ts';
import type { ClaimedDelivery, Verdict } from '../model/claimed-delivery.ts';
import type { DeliveryOutcome } from '../model/outcome.ts';
import type { Job } from '../send/jobs.ts';
import { createCircuits } from './circuits.ts';
import { createDestinationRoom } from './destination-room.ts';
import { createGate } from './gate.ts';
import { type Pace, paceOf } from './pace.ts';
import { createPacing } from './pacing.ts';
import { createShares, type Room } from './shares.ts';
import { createThrottles } from './throttles.ts';

/**
 * Whether a job may be sent now. A job with a verdict is recorded instead of being sent. `closed` means that this
 * process is stopping.
 */
export type Admission = 'go' | 'closed' | Verdict;

/** How much may be claimed now; see `ClaimRequest`. */
export type ClaimRoom = {
  limit: number;
  retryLimit: number;
  room: ReadonlyMap<string, number>;
  defaultRoom: number;
  accountRoom: Room;
  originRoom: Room;
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
  /** Wakes the claim loop when a rate limit lets more through. */
  signal: { notifyIn(milliseconds: number): void };
};

/**
 * Decides which deliveries may be sent now. Before a claim, this process must have a free slot, and there must be room
 * for the destination, its account, and its origin. Each job then needs a closed circuit, a slot within the
 * destination's rate limit, and its turn at the gate.
 */
export function createAdmission({ db, log, limits, slotsInUse, signal }: AdmissionOptions) {
  const { maxInFlight, maxPerDestination, claimedAhead, claimBatch } = limits;
  const circuits = createCircuits();
  const throttles = createThrottles();
  const pacing = createPacing({ db, log });
  const destinations = createDestinationRoom(
    { ...limits, maxPerDestination: maxPerDestination + claimedAhead },
    [circuits, throttles],
    pacing,
  );
  const shares = createShares(limits);
  const gate = createGate(maxPerDestination);
  /** Jobs that have a slot within their destination's rate limit. */
  const paced = new WeakSet<Job>();

  const freeSlots = () => maxInFlight - slotsInUse();

  function claimRoom(): ClaimRoom {
    const free = freeSlots();
    const limit = Math.min(claimBatch, shares.mostAtOnce(free));
    const room = destinations.room();
    const [accountRoom, originRoom] = [shares.accountRoom(free), shares.originRoom()];
    return {
      ...{ limit, room, accountRoom, originRoom },
      retryLimit: Math.min(destinations.retryRoom(), limit),
      defaultRoom: destinations.share(),
    };
  }

  function take(deliveries: readonly ClaimedDelivery[]): void {
    for (const delivery of deliveries) {
      circuits.learn(delivery.destination, delivery.circuitOpenSeconds);
      destinations.take(delivery);
      shares.take(delivery);
    }
  }

  function free(deliveries: readonly ClaimedDelivery[]): void {
    for (const delivery of deliveries) {
      destinations.free(delivery);
      shares.free(delivery);
    }
  }

  function admit(jobs: readonly Job[]): Promise<Admission>[] {
    const slots = reserveSlots(
      jobs.filter((job) => !job.verdict && paceOfJob(job) && !isBroken(job) && !isThrottled(job)),
    );
    return jobs.map((job) => admitOne(job, slots.get(job)));
  }

  async function admitOne(job: Job, slot?: Promise<Slot>): Promise<Admission> {
    if (job.verdict) return job.verdict;
    if (isBroken(job)) return circuitOpen(job);
    if (isThrottled(job)) return throttled(job);
    if (slot) {
      const { isGranted, delaySeconds } = await slot;
      if (!isGranted) return { kind: 'wait', afterSeconds: delaySeconds, reason: 'rate_limited' };
      paced.add(job);
      await sleep(delaySeconds * 1000);
    } else {
      pacing.forget(destinationOf(job));
    }
    const turn = await gate.enter(job);
    if (turn === 'closed') return turn;
    if (turn === 'put_back') return { kind: 'wait', afterSeconds: 0 };
    if (isBroken(job)) return circuitOpen(job);
    return isThrottled(job) ? throttled(job) : 'go';
  }

  /** Whether the destination is broken, which may change while a job waits. Manual deliveries are sent anyway. */
  function isBroken(job: Job): boolean {
    return !job.deliveries.every(isManual) && circuits.openSeconds(destinationOf(job)) > 0;
  }

  function circuitOpen(job: Job): Verdict {
    return { kind: 'wait', afterSeconds: circuits.openSeconds(destinationOf(job)), reason: 'circuit_open' };
  }

  /** Whether the destination is throttled, which may change while a job waits. Manual deliveries are sent anyway. */
  function isThrottled(job: Job): boolean {
    return !job.deliveries.every(isManual) && throttles.closedSeconds(destinationOf(job)) > 0;
  }

  function throttled(job: Job): Verdict {
    return { kind: 'wait', afterSeconds: throttles.closedSeconds(destinationOf(job)), reason: 'rate_limited' };
  }

  /** Reserves slots with one statement per destination. */
  function reserveSlots(jobs: readonly Job[]): Map<Job, Promise<Slot>> {
    const slots = new Map<Job, Promise<Slot>>();
    for (const [destination, group] of Map.groupBy(jobs, destinationOf)) {
      const reserved = pacing.reserve(destination, paceOfJob(group[0]!)!, group.length);
      void reserved.then(({ reopensInSeconds }) => {
        if (reopensInSeconds > 0) signal.notifyIn(reopensInSeconds * 1000);
      });
      group.forEach((job, index) => {
        const slot = reserved.then(({ granted, delays }) => ({
          isGranted: index < granted,
          delaySeconds: delays[index]!,
        }));
        slots.set(job, slot);
      });
    }
    return slots;
  }

  function leave(job: Job, outcomes: readonly DeliveryOutcome[]): void {
    const destination = destinationOf(job);
    free(job.deliveries);
    // Without outcomes, it isn't known whether a request was sent.
    const isUnsent = outcomes.length > 0 && outcomes.every(({ attempts }) => attempts.length === 0);
    if (paced.has(job) && isUnsent) {
      void pacing.giveBack(destination, paceOfJob(job)!);
    }
    const effects = new Set(outcomes.map(({ health }) => health?.kind));
    if (effects.has('disable') || effects.has('pause')) putBackWaiting(destination);
    // A batch counts as one request, because its members succeed and fail together.
    if (effects.has('healthy')) {
      circuits.onHealthy(destination);
      throttles.onHealthy(destination);
    }
    for (const { health } of outcomes) if (health?.kind === 'limited') limit(destination, health.afterSeconds);
    if (effects.has('failing') && !effects.has('healthy')) circuits.onFailure(destination);
    gate.leave(job);
  }

  function limit(destination: string, afterSeconds: number): void {
    throttles.onLimited(destination, afterSeconds);
    signal.notifyIn(afterSeconds * 1000);
  }

  function putBackWaiting(destination: string): void {
    gate.clear('put_back', destination);
  }

  return {
    freeSlots,
    claimRoom,

    /** Counts claimed deliveries. Each is counted until its job leaves. */
    take,

    /**
     * Decides whether each job may be sent, either immediately or when it's the job's turn. Call `leave` for every job
     * whose admission isn't `closed`.
     */
    admit,

    /** Whether a job may be retried immediately. False if it is rate limited or its destination is broken. */
    mayRetry: (job: Job): boolean => paceOfJob(job) === null && !circuits.isBroken(destinationOf(job)),

    /** Call this with a job's outcomes when it is finished so that the next job gets its turn. */
    leave,

    /** Returns a disabled or paused destination's waiting jobs to the queue. */
    putBackWaiting,

    /** Ends the wait of all jobs. Returns their deliveries, which are no longer counted. */
    close(): ClaimedDelivery[] {
      const deliveries = gate.clear('closed').flatMap((job) => job.deliveries);
      free(deliveries);
      return deliveries;
    },

    brokenCount: circuits.brokenCount,
    /** How many more seconds a destination's circuit stays open; 0 when it is closed. */
    circuitOpenSeconds: circuits.openSeconds,
  };
}

type Slot = { isGranted: boolean; delaySeconds: number };

const destinationOf = ({ deliveries }: Job) => deliveries[0]!.destination;
const paceOfJob = ({ deliveries, definition }: Job): Pace | null => paceOf(deliveries[0]!.maxPerSecond, definition);
const isManual = ({ trigger, event }: ClaimedDelivery) => trigger === 'MANUAL' || event.test;
