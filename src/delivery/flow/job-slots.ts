import { setTimeout as sleep } from 'node:timers/promises';
import type { Job } from '../send/jobs.ts';
import { type Pace, paceOf } from './pace.ts';
import type { createPacing } from './pacing.ts';

export type JobSlotsOptions = {
  pacing: ReturnType<typeof createPacing>;
  /** Called when a destination whose requests must not overlap may get its next request. */
  onTurnEnded: () => void;
};

/** The maximum time that a job waits before it asks for a slot again, in case one has become free early. */
const MAX_SLEEP_SECONDS = 1;

const destinationOf = ({ deliveries }: Job) => deliveries[0]!.destination;

/** The pace of a job's destination. Null if it has no rate limit. */
export const paceOfJob = ({ deliveries, definition }: Job): Pace | null =>
  paceOf(deliveries[0]!.maxPerSecond, definition);

/** Gets slots for jobs whose destinations have rate limits. Each of a job's requests takes its own slot. */
export function createJobSlots({ pacing, onTurnEnded }: JobSlotsOptions) {
  const slotted = new WeakSet<Job>();
  let isClosed = false;

  async function enter(job: Job, delaySeconds: number | undefined): Promise<boolean> {
    if (delaySeconds === undefined) return false;
    slotted.add(job);
    await sleep(delaySeconds * 1000);
    return true;
  }

  async function endTurn(job: Job): Promise<void> {
    if (!slotted.delete(job) || paceOfJob(job)!.turnSeconds === null) return;
    await pacing.endTurn(destinationOf(job));
    onTurnEnded();
  }

  return {
    /**
     * Reserves slots, with one statement per destination.
     *
     * @returns promises that resolve to true when a job's slot arrives, or to false if the job has none.
     */
    reserve(jobs: readonly Job[]): Map<Job, Promise<boolean>> {
      const groups = [...Map.groupBy(jobs, destinationOf)];
      const entries = groups.flatMap(([destination, group]) => {
        const reserved = pacing.reserve(destination, paceOfJob(group[0]!)!, group.length);
        return group.map((job, index) => [job, reserved.then((delays) => enter(job, delays[index]))] as const);
      });
      return new Map(entries);
    },

    /** Waits for a slot for the job's next request. Returns false if this process is stopping. */
    async next(job: Job): Promise<boolean> {
      const [destination, pace] = [destinationOf(job), paceOfJob(job)];
      if (!pace) return true;
      await endTurn(job);
      while (!isClosed) {
        const [delaySeconds] = await pacing.reserve(destination, pace, 1);
        if (await enter(job, delaySeconds)) return true;
        await sleep(Math.min(pacing.reopensInSeconds([destination]), MAX_SLEEP_SECONDS) * 1000);
      }
      return false;
    },

    /** Call this when the job has ended. Its last slot is given back if nothing was sent. */
    async leave(job: Job, isUnsent: boolean): Promise<void> {
      if (slotted.has(job) && isUnsent) await pacing.giveBack(destinationOf(job), paceOfJob(job)!);
      await endTurn(job);
    },

    /** Stops waiting for more slots. */
    close(): void {
      isClosed = true;
    },
  };
}
