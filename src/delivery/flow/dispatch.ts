import type { ClaimedDelivery } from '../model/claimed-delivery.ts';
import { decided, type Job, type JobOptions, planJobs } from '../send/jobs.ts';
import type { createCircuits } from './circuits.ts';
import { createGate } from './gate.ts';
import type { createPacing } from './pacing.ts';

export type DispatchOptions = {
  jobOptions: JobOptions;
  circuits: ReturnType<typeof createCircuits>;
  pacing: ReturnType<typeof createPacing>;
  /** Requests to one destination at once. */
  maxPerDestination: number;
  /** Resolves when it is over. */
  begin: (job: Job) => Promise<void>;
  /** Whether the lease is known to be still ours. */
  isSure: (delivery: ClaimedDelivery) => boolean;
  /** Their leases may have ended, and somebody else may have them. */
  letGo: (deliveries: readonly ClaimedDelivery[]) => void;
  /** Have another look at the queue then. */
  wakeIn: (milliseconds: number) => void;
};

/**
 * Begins what is to be done with claimed deliveries: as soon as its destination has room for a request; or, where there
 * is a `maxPerSecond`, in slots of its own. What has no slot yet, and what is for a destination that this process or
 * another has found broken, is put back.
 */
export function createDispatch(options: DispatchOptions) {
  const { jobOptions, circuits, pacing, maxPerDestination, begin, isSure, letGo, wakeIn } = options;
  const gate = createGate(maxPerDestination, send);

  function take(deliveries: readonly ClaimedDelivery[]): void {
    for (const { destination, circuitOpenSeconds } of deliveries) circuits.learn(destination, circuitOpenSeconds);
    const limited = new Map<string, Job[]>();
    for (const job of planJobs(deliveries, jobOptions)) {
      const [{ destination, maxPerSecond }] = job.deliveries as [ClaimedDelivery];
      if (job.isDecided) void begin(job);
      else if (isBroken(job)) void begin(putBack(job, circuits.openSeconds(destination), 'circuit_open'));
      else if (maxPerSecond === null) {
        pacing.forget(destination);
        gate.enter(job);
      } else limited.set(destination, [...(limited.get(destination) ?? []), job]);
    }
    for (const jobs of limited.values()) void pace(jobs);
  }

  /** Whether the destination has been found broken, perhaps while this waited for it. */
  function isBroken({ deliveries }: Job): boolean {
    return !deliveries.every(isByHand) && circuits.openSeconds(deliveries[0]!.destination) > 0;
  }

  function send(job: Job): void {
    const { destination } = job.deliveries[0]!;
    if (!job.deliveries.every(isSure)) {
      letGo(job.deliveries);
      queueMicrotask(() => gate.leave(destination));
      return;
    }
    const openSeconds = circuits.openSeconds(destination);
    const sent = isBroken(job) ? putBack(job, openSeconds, 'circuit_open') : job;
    void begin(sent).then(() => gate.leave(destination));
  }

  async function pace(jobs: readonly Job[]): Promise<void> {
    const [{ destination, maxPerSecond }] = jobs[0]!.deliveries as [ClaimedDelivery];
    const { granted, delays, reopensInSeconds } = await pacing.reserve(destination, maxPerSecond!, jobs.length);
    jobs.forEach((job, index) => {
      const delay = delays[index]!;
      if (index >= granted) void begin(putBack(job, delay, 'rate_limited'));
      else setTimeout(gate.enter, delay * 1000, job);
    });
    if (reopensInSeconds > 0) wakeIn(reopensInSeconds * 1000);
  }

  return {
    take,

    /** Puts back what waits for a destination that takes nothing any more. Call it when that is on its way to be recorded. */
    putBackWaiting(destination: string): void {
      for (const job of gate.clear(destination)) void begin(decided(job.deliveries, { kind: 'wait', afterSeconds: 0 }));
    },

    /** Takes out what waits for its turn. */
    clear: (): ClaimedDelivery[] => gate.clear().flatMap(({ deliveries }) => deliveries),
  };
}

const isByHand = ({ trigger, event }: ClaimedDelivery) => trigger === 'MANUAL' || event.test;

function putBack({ deliveries }: Job, afterSeconds: number, reason: 'circuit_open' | 'rate_limited'): Job {
  return decided(deliveries, { kind: 'wait', afterSeconds, reason });
}
