import { setTimeout as sleep } from 'node:timers/promises';

export type Hints = {
  /** Forgets earlier hints. Call it right before you check for changes. */
  clear(): void;
  /** Waits up to this long for a hint. Returns immediately if there was one since `clear`, or when stopped. */
  next(timeoutMilliseconds: number): Promise<void>;
  /** Waits this long, regardless of hints. Returns early only when stopped. */
  rest(milliseconds: number): Promise<void>;
  close(): void;
};

/**
 * Collects hints for a loop that waits for them. When `signal` aborts, every wait ends, and no more hints are
 * collected.
 */
export function collectHints(subscribe: (wake: () => void) => () => void, signal: AbortSignal): Hints {
  let hint = Promise.withResolvers<void>();
  const unsubscribe = subscribe(() => hint.resolve());
  signal.addEventListener('abort', unsubscribe, { once: true });

  const pause = (milliseconds: number, pauseSignal: AbortSignal) =>
    sleep(milliseconds, undefined, { signal: pauseSignal }).catch(() => {});

  return {
    clear() {
      hint = Promise.withResolvers<void>();
    },
    async next(timeoutMilliseconds) {
      const done = new AbortController();
      await Promise.race([hint.promise, pause(timeoutMilliseconds, AbortSignal.any([signal, done.signal]))]);
      done.abort();
    },
    rest: (milliseconds) => pause(Math.max(0, milliseconds), signal),
    close() {
      signal.removeEventListener('abort', unsubscribe);
      unsubscribe();
    },
  };
}
