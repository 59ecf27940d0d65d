import type { Job } from '../send/jobs.ts';

/**
 * Lets at most `most` requests to a destination be under way. More is claimed, because few large claims cost the database
 * less than many small ones, and waits here for its turn.
 */
export function createGate(most: number, send: (job: Job) => void) {
  const underWay = new Map<string, number>();
  const waiting = new Map<string, Job[]>();

  return {
    enter(job: Job): void {
      const { destination } = job.deliveries[0]!;
      const count = underWay.get(destination) ?? 0;
      if (count < most) {
        underWay.set(destination, count + 1);
        send(job);
        return;
      }
      const queue = waiting.get(destination);
      if (queue) queue.push(job);
      else waiting.set(destination, [job]);
    },

    /** A request to the destination is over: the next one goes. */
    leave(destination: string): void {
      const queue = waiting.get(destination);
      const next = queue?.shift();
      if (queue?.length === 0) waiting.delete(destination);
      if (next) {
        send(next);
        return;
      }
      const count = underWay.get(destination)! - 1;
      if (count > 0) underWay.set(destination, count);
      else underWay.delete(destination);
    },

    /** Takes out what waits, for one destination or for all. */
    clear(destination?: string): Job[] {
      const jobs = destination === undefined ? [...waiting.values()].flat() : (waiting.get(destination) ?? []);
      if (destination === undefined) waiting.clear();
      else waiting.delete(destination);
      return jobs;
    },
  };
}
