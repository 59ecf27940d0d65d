import type { Logger } from 'pino';
import { createWakeSignal } from './wake-signal.ts';

export type Loop = {
  start(): void;
  /** Starts the next round now, or right after the current one. */
  wake(): void;
  /** Waits for the current round, which sees the aborted signal, and starts no other. */
  stop(): Promise<void>;
};

/**
 * Repeats a round of background work, with a pause after each. The pause varies by a quarter, so that processes that
 * were started together don't all run at the same time. A round that throws is logged, and the next one retries.
 *
 * @param options `task` completes the log line "could not … the next round will retry". `round` may return the number of
 *   milliseconds until the next round, if it differs from `intervalMilliseconds`.
 */
export function createLoop(options: {
  task: string;
  intervalMilliseconds: number;
  log: Logger;
  /** The level of the log line. */
  level?: 'warn' | 'debug';
  round: (signal: AbortSignal) => Promise<void> | Promise<number>;
}): Loop {
  const { task, intervalMilliseconds, log, level = 'warn', round } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const alarm = createWakeSignal();
  let running: Promise<void> = Promise.resolve();

  async function run(): Promise<void> {
    while (!signal.aborted) {
      let pause = intervalMilliseconds;
      try {
        pause = (await round(signal)) ?? pause;
      } catch (error) {
        if (!signal.aborted) log[level]({ err: error }, `could not ${task}; the next round will retry`);
      }
      if (!signal.aborted) await alarm.wait(pause * (0.75 + Math.random() / 2));
    }
  }

  return {
    start() {
      running = run();
    },
    wake: alarm.notify,
    async stop() {
      stopping.abort();
      alarm.close();
      await running;
    },
  };
}
