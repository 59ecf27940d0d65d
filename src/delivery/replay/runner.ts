import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Bus, topics } from '../../bus/bus.ts';
import type { Database } from '../../database/client.ts';
import { createLoop } from '../../loop.ts';
import { claimReplays, countWaiting, giveBackReplay, type ReplayJob, renewReplay, replayBatch } from './batch.ts';

const LEASE_SECONDS = 10;
const POLL_INTERVAL_MILLISECONDS = 1_000;
/** The maximum number of replays that one process runs at the same time. If there are more, they take turns. */
const MAX_JOBS = 8;
const TIME_SLICE_MILLISECONDS = 2_000;
const MAX_BATCH = 100;
const BATCHES_A_SECOND = 5;
/** While this many deliveries are waiting, no more are queued, so that they never hold up new events for long. */
const MAX_WAITING = 100;
const WAIT_MILLISECONDS = 200;

/**
 * Runs the replays that this process holds a lease for: a few deliveries at a time, within each replay's rate.
 *
 * @param options `isOnHold`: whether nothing may be sent now.
 */
export function createReplayRunner(options: {
  db: Pick<Database, 'pool'>;
  bus: Bus;
  log: Logger;
  isOnHold?: () => boolean;
}) {
  const { db, bus, log, isOnHold = () => false } = options;
  const stopping = new AbortController();
  const jobs = new Set<Promise<void>>();
  let unsubscribe = () => {};

  const pause = (milliseconds: number) => sleep(milliseconds, undefined, { signal: stopping.signal }).catch(() => {});

  const loop = createLoop({
    task: 'check for replays',
    intervalMilliseconds: POLL_INTERVAL_MILLISECONDS,
    log,
    async round() {
      const capacity = isOnHold() ? 0 : MAX_JOBS - jobs.size;
      const claimed = capacity > 0 ? await claimReplays(db.pool, { limit: capacity, leaseSeconds: LEASE_SECONDS }) : [];
      for (const job of claimed) start(job);
    },
  });

  function start(job: ReplayJob): void {
    const running = run(job)
      // The replay's lease expires, and the next process that checks resumes it.
      .catch((error) => log.warn({ err: error, replayId: job.id }, 'a replay was interrupted; it will resume'))
      .finally(() => {
        jobs.delete(running);
        loop.wake();
      });
    jobs.add(running);
  }

  async function run(job: ReplayJob): Promise<void> {
    const { projectId, maxPerSecond } = job;
    const size = Math.max(1, Math.min(MAX_BATCH, Math.floor(maxPerSecond / BATCHES_A_SECOND)));
    const sliceEndsAt = performance.now() + TIME_SLICE_MILLISECONDS;
    while (!stopping.signal.aborted) {
      if (isOnHold() || (jobs.size >= MAX_JOBS && performance.now() > sliceEndsAt)) return giveBackReplay(db.pool, job);
      if ((await countWaiting(db.pool, projectId, MAX_WAITING)) >= MAX_WAITING) {
        if (!(await renewReplay(db.pool, job, LEASE_SECONDS))) return;
        await pause(WAIT_MILLISECONDS);
        continue;
      }
      const batch = await replayBatch(db.pool, job, { size, leaseSeconds: LEASE_SECONDS });
      if (!batch) return;
      bus.publish(topics.replays(projectId));
      if (batch.requeued > 0) {
        bus.publish(topics.deliveriesDue);
        bus.publish(topics.deliveries(projectId));
      }
      if (batch.status !== 'RUNNING') return;
      await pause((size / maxPerSecond) * 1_000);
    }
  }

  return {
    start(): void {
      unsubscribe = bus.subscribe(topics.replaysDue, loop.wake);
      loop.start();
    },
    async stop(): Promise<void> {
      stopping.abort();
      unsubscribe();
      await loop.stop();
      await Promise.all(jobs);
    },
  };
}
