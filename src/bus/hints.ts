import { setTimeout as sleep } from 'node:timers/promises';

export type Hints = {
  /** Forgets the hints so far: whoever looks now sees what they were about. */
  clear(): void;
  /** Waits for a hint, at most so long. Returns at once when one has come since `clear`, or when stopped. */
  next(timeoutMilliseconds: number): Promise<void>;
  /** Waits, hint or not; returns early only when stopped. */
  rest(milliseconds: number): Promise<void>;
  close(): void;
};

/** Collects hints that there is something new, for one who waits for them. `signal` ends all waiting. */
export function collectHints(subscribe: (wake: () => void) => () => void, signal: AbortSignal): Hints {
  let hint = Promise.withResolvers<void>();
  const unsubscribe = subscribe(() => hint.resolve());

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
    close: unsubscribe,
  };
}
