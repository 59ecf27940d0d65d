import type { Job } from '../send/jobs.ts';

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
