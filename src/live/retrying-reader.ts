/** How many reads in a row may fail, for example, while the database restarts. */
const MAX_FAILURES = 15;

export type RetryingReader = {
  /** Runs a read, and retries it for a while if it fails. */
  read<T>(run: () => Promise<T>): Promise<T>;
  /** The time spent on reads since the last call. */
  takeSpentMilliseconds(): number;
};

/**
 * Retries failed reads for a while, and measures how long reads take.
 *
 * @param rest waits before the next attempt.
 */
export function createRetryingReader(rest: () => Promise<unknown>, signal: AbortSignal): RetryingReader {
  let spentMilliseconds = 0;
  return {
    async read(run) {
      for (let failures = 1; ; failures++) {
        const startedAt = performance.now();
        try {
          return await run();
        } catch (error) {
          if (signal.aborted || failures >= MAX_FAILURES) throw error;
        } finally {
          spentMilliseconds += performance.now() - startedAt;
        }
        await rest();
      }
    },
    takeSpentMilliseconds() {
      const spent = spentMilliseconds;
      spentMilliseconds = 0;
      return spent;
    },
  };
}
