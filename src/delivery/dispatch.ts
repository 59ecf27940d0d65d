import type { createCircuits } from './circuits.ts';
import { decided, type Job, type JobOptions, planJobs } from './jobs.ts';
import type { createPacing } from './pacing.ts';
import type { ClaimedDelivery } from './types.ts';

export type DispatchOptions = {
  jobOptions: JobOptions;
  circuits: ReturnType<typeof createCircuits>;
  pacing: ReturnType<typeof createPacing>;
  begin: (job: Job) => void;
  /** Have another look at the queue then. */
  wakeIn: (milliseconds: number) => void;
};

/**
 * Begins what is to be done with claimed deliveries: at once; or, for a destination with `maxPerSecond`, in slots of its
 * own. What has no slot yet, and what is for a destination that another process has found broken, is put back.
 */
export function createDispatch({ jobOptions, circuits, pacing, begin, wakeIn }: DispatchOptions) {
  return function dispatch(deliveries: readonly ClaimedDelivery[]): void {
    for (const { destination, circuitOpenSeconds } of deliveries) circuits.learn(destination, circuitOpenSeconds);
    const limited = new Map<string, Job[]>();
    for (const job of planJobs(deliveries, jobOptions)) {
      const [{ destination, maxPerSecond }] = job.deliveries as [ClaimedDelivery];
      const openSeconds = job.deliveries.every(isByHand) ? 0 : circuits.openSeconds(destination);
      if (job.isDecided) begin(job);
      else if (openSeconds > 0) begin(putBack(job, openSeconds, 'circuit_open'));
      else if (maxPerSecond === null) {
        pacing.forget(destination);
        begin(job);
      } else limited.set(destination, [...(limited.get(destination) ?? []), job]);
    }
    for (const jobs of limited.values()) void pace(jobs);
  };

  async function pace(jobs: readonly Job[]): Promise<void> {
    const [{ destination, maxPerSecond }] = jobs[0]!.deliveries as [ClaimedDelivery];
    const { granted, delays, reopensInSeconds } = await pacing.reserve(destination, maxPerSecond!, jobs.length);
    jobs.forEach((job, index) => {
      const delay = delays[index]!;
      if (index >= granted) begin(putBack(job, delay, 'rate_limited'));
      else setTimeout(begin, delay * 1000, job);
    });
    if (reopensInSeconds > 0) wakeIn(reopensInSeconds * 1000);
  }
}

const isByHand = ({ trigger, event }: ClaimedDelivery) => trigger === 'MANUAL' || event.test;

function putBack({ deliveries }: Job, afterSeconds: number, reason: 'circuit_open' | 'rate_limited'): Job {
  return decided(deliveries, { kind: 'wait', afterSeconds, reason });
}
