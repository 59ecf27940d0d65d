import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { composeMessages } from './compose.ts';
import { writeDigests } from './digest.ts';
import { type SendOptions, sendDueMessages } from './send.ts';

const LOOK_MILLISECONDS = 5_000;

/** Writes and sends the messages that are due. Any number of processes may do this at once. */
export function createNoticeRunner(options: SendOptions & { pool: pg.Pool; consoleOrigin: () => string | undefined }) {
  const { pool, consoleOrigin, log } = options;
  const stopping = new AbortController();
  let loop: Promise<void> = Promise.resolve();

  /** Each step is independent of the others. If one fails, the next round retries it. */
  async function run(): Promise<void> {
    const steps = [
      () => composeMessages(pool, consoleOrigin()),
      () => writeDigests(pool, consoleOrigin()),
      () => sendDueMessages(pool, options),
    ];
    for (const step of steps)
      await step().catch((error) => log.warn({ err: error }, "couldn't send notices; the next round will retry"));
  }

  async function keepRunning(): Promise<void> {
    while (!stopping.signal.aborted) {
      await run();
      const pause = LOOK_MILLISECONDS * (0.75 + Math.random() / 2);
      await sleep(pause, undefined, { signal: stopping.signal, ref: false }).catch(() => {});
    }
  }

  return {
    run,
    start(): void {
      loop = keepRunning();
    },
    async stop(): Promise<void> {
      stopping.abort();
      await loop;
    },
  };
}
