import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../errors.ts';
import { createFairQueue } from '../../limits/fair-queue.ts';
import { createLru } from '../../lru.ts';

/** The size of routes that may be read, and how long a request waits for them. */
export type LoadPace = { bytesPerSecond: number; burstBytes: number; maxWaitMilliseconds: number };

/** A second's worth takes about 40 ms of a gateway's time. The most routes that a project can have take about 55 MB. */
const PACE: LoadPace = { bytesPerSecond: 16_777_216, burstBytes: 67_108_864, maxWaitMilliseconds: 10_000 };
/** Above this number, the oldest projects and accounts are forgotten. */
const MAX_KNOWN = 50_000;
const MAX_SLEEP_MILLISECONDS = 100;
const RETRY_SECONDS = 5;

/**
 * Limits how much of a process's time an account's routes take. Reading many large routes takes more than a tenth of a
 * second, and sellers can change them at any time. Only the buyers of the account wait.
 *
 * @param options `now` returns the time of a monotonic clock in milliseconds. `pace` is for tests.
 */
export function createLoadPacing({ now, pace = PACE }: { now: () => number; pace?: LoadPace | undefined }) {
  const burstMilliseconds = (pace.burstBytes / pace.bytesPerSecond) * 1000;
  /** The accounts that own projects. A project's first read shows whose it is. */
  const accounts = createLru<string>(MAX_KNOWN);
  /** When an account's routes may be read again. */
  const readyAt = createLru<number>(MAX_KNOWN);
  const turns = createFairQueue({ perAccount: 1, perProcess: Infinity });
  const keyOf = (projectId: string) => accounts.get(projectId) ?? projectId;

  /** How many reads of an account wait or run. */
  const pending = new Map<string, number>();

  async function waitUntilReady(key: string): Promise<void> {
    for (;;) {
      const milliseconds = millisecondsLeft(key);
      if (milliseconds <= 0) return;
      await sleep(Math.min(milliseconds, MAX_SLEEP_MILLISECONDS));
    }
  }

  function millisecondsLeft(key: string): number {
    return (readyAt.get(key) ?? -Infinity) - now();
  }

  function addPending(key: string, change: 1 | -1): void {
    const count = (pending.get(key) ?? 0) + change;
    if (count > 0) pending.set(key, count);
    else pending.delete(key);
  }

  return {
    /** Whether a project's routes are read only after others of its account, or later. */
    isPaced(projectId: string): boolean {
      const key = keyOf(projectId);
      return pending.has(key) || millisecondsLeft(key) > 0;
    },

    /** Reads a project's routes when its account may, one project of the account at a time. */
    async run<T extends { accountId: string | undefined; bytes: number }>(
      projectId: string,
      read: () => Promise<T>,
    ): Promise<T> {
      const key = keyOf(projectId);
      addPending(key, 1);
      const reading = turns.run(key, async () => {
        await waitUntilReady(key);
        const loaded = await read();
        const { accountId, bytes } = loaded;
        if (accountId === undefined) return loaded;
        accounts.set(projectId, accountId);
        const from = Math.max(readyAt.get(accountId) ?? -Infinity, now() - burstMilliseconds);
        readyAt.set(accountId, from + (bytes / pace.bytesPerSecond) * 1000);
        return loaded;
      });
      return reading.finally(() => addPending(key, -1));
    },

    /** Waits for a read. @throws AppError `UNAVAILABLE` if it takes too long, so that requests don't pile up. */
    async orUnavailable<T>(reading: Promise<T>): Promise<T> {
      const ended = new AbortController();
      const timeout = sleep(pace.maxWaitMilliseconds, undefined, { signal: ended.signal, ref: false }).then(() => {
        throw new AppError('UNAVAILABLE', { retryAfterSeconds: RETRY_SECONDS });
      });
      try {
        return await Promise.race([reading, timeout]);
      } finally {
        ended.abort();
      }
    },
  };
}
