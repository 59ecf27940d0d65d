import type { Job } from '../send/jobs.ts';

/** How waiting at the gate ends: the job gets its turn, it goes back to the queue, or the process is stopping. */
export type Turn = 'go' | 'put_back' | 'closed';

type Waiting = { job: Job; resolve: (turn: Turn) => void };

/**
 * Lets at most `most` requests to a destination run at the same time. More deliveries than that are claimed, because a
 * few large claims cost the database less than many small ones. The rest wait here for their turn.
 */
export function createGate(most: number) {
  const inside = new Set<Job>();
  const counts = new Map<string, number>();
  const waiting = new Map<string, Waiting[]>();

  const room = (destination: string) => most - (counts.get(destination) ?? 0);

  /** Lets the job through if there is room. */
  function tryEnter(job: Job): boolean {
    const { destination } = job.deliveries[0]!;
    if (room(destination) === 0) return false;
    counts.set(destination, (counts.get(destination) ?? 0) + 1);
    inside.add(job);
    return true;
  }

  return {
    /** How many more requests to a destination may run. */
    room,

    tryEnter,

    /** Resolves when it is the job's turn, or when the job is cleared. */
    enter(job: Job): Promise<Turn> {
      if (tryEnter(job)) return Promise.resolve('go');
      const { destination } = job.deliveries[0]!;
      const { promise, resolve } = Promise.withResolvers<Turn>();
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
    clear(turn: Exclude<Turn, 'go'>, destination?: string): Job[] {
      const cleared = destination === undefined ? [...waiting.values()].flat() : (waiting.get(destination) ?? []);
      if (destination === undefined) waiting.clear();
      else waiting.delete(destination);
      for (const { resolve } of cleared) resolve(turn);
      return cleared.map(({ job }) => job);
    },
  };
}
