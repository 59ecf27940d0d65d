import { createLoop } from '../../loop.ts';
import { composeMessages } from './compose.ts';
import { createDigests } from './digest.ts';
import { createMessageQueue, type QueueOptions } from './queue.ts';

const POLL_INTERVAL_MILLISECONDS = 5_000;

/** Writes and sends the messages that are due. Any number of processes may do this at the same time. */
export function createNoticeRunner(
  options: Omit<QueueOptions, 'signal'> & { consoleOrigin: () => string | undefined },
) {
  const { pool, consoleOrigin, log, isOnHold } = options;
  const stopping = new AbortController();
  const queue = createMessageQueue({ ...options, signal: stopping.signal });
  const writeDigests = createDigests({ pool, log, consoleOrigin });

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
    if (isOnHold?.()) return;
    for (const step of steps)
      await step().catch((error) => log.warn({ err: error }, "couldn't send notices; the next round will retry"));
  }

  /** A round doesn't wait for messages that earlier rounds are still sending. */
  const loop = createLoop({
    task: 'send notices',
    intervalMilliseconds: POLL_INTERVAL_MILLISECONDS,
    log,
    round: startRound,
  });

  return {
    /** Runs one round, and waits until its messages are sent. */
    async run(): Promise<void> {
      await startRound();
      await queue.settled();
    },
    start: loop.start,
    /** Stops sending, and waits for messages that are being sent. */
    async stop(): Promise<void> {
      stopping.abort();
      await loop.stop();
      await queue.settled();
    },
  };
}
