import { setTimeout as sleep } from 'node:timers/promises';
import { composeMessages } from './compose.ts';
import { createDigests } from './digest.ts';
import { createMessageQueue, type QueueOptions } from './queue.ts';

const LOOK_MILLISECONDS = 5_000;

/** Writes and sends the messages that are due. Any number of processes may do this at the same time. */
export function createNoticeRunner(
  options: Omit<QueueOptions, 'signal'> & { consoleOrigin: () => string | undefined },
) {
  const { pool, consoleOrigin, log } = options;
  const stopping = new AbortController();
  const queue = createMessageQueue({ ...options, signal: stopping.signal });
  const writeDigests = createDigests({ pool, log, consoleOrigin });
  let loop: Promise<void> = Promise.resolve();

  /**
   * Each step is independent of the others. If one fails, the next round retries it. Messages that were written earlier
   * don't wait for those that take longer to write.
   */
  async function startRound(): Promise<void> {
    const steps = [
      () => queue.start(),
      () => composeMessages(pool, consoleOrigin(), log),
      () => queue.start(),
      () => writeDigests(),
      () => queue.start(),
    ];
    for (const step of steps)
      await step().catch((error) => log.warn({ err: error }, "couldn't send notices; the next round will retry"));
  }

  /** A round doesn't wait for messages that earlier rounds are still sending. */
  async function keepRunning(): Promise<void> {
    while (!stopping.signal.aborted) {
      await startRound();
      const pause = LOOK_MILLISECONDS * (0.75 + Math.random() / 2);
      await sleep(pause, undefined, { signal: stopping.signal, ref: false }).catch(() => {});
    }
  }

  return {
    /** Runs one round, and waits until its messages are sent. */
    async run(): Promise<void> {
      await startRound();
      await queue.settled();
    },
    start(): void {
      loop = keepRunning();
    },
    /** Stops sending, and waits for messages that are being sent. */
    async stop(): Promise<void> {
      stopping.abort();
      await loop;
      await queue.settled();
    },
  };
}
