/** Timers for more than 24 days fire immediately, and `Retry-After` can be any number. */
const MAX_SECONDS = 24 * 60 * 60;

/** Waits for up to a day, and rejects with the signal's reason if it is aborted in the meantime. */
export function wait(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, Math.min(seconds, MAX_SECONDS) * 1000);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

const MAX_BACKOFF_SECONDS = 8;

/** The delay before a retry, in seconds: 0.5, doubled each time up to 8, then shortened at random by up to half. */
export function backoffSeconds(retry: number): number {
  return Math.min(MAX_BACKOFF_SECONDS, 0.5 * 2 ** retry) * (0.5 + Math.random() / 2);
}
