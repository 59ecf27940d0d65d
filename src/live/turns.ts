export type Turns = {
  /** Runs a job when it is the account's turn. */
  take<T>(accountId: string, job: () => Promise<T>): Promise<T>;
};

/**
 * Limits how many jobs run at once, and lets accounts take turns. One account's thousand subscriptions delay another
 * account's by only a single job, and database connections are left for everything else.
 */
export function createTurns(atOnce: number): Turns {
  /** Waiting jobs by account. The account whose turn is next comes first. */
  const waiting = new Map<string, (() => void)[]>();
  let running = 0;

  function callNext(): void {
    const [next] = waiting;
    if (next === undefined || running >= atOnce) return;
    const [accountId, jobs] = next;
    const start = jobs.shift()!;
    waiting.delete(accountId);
    if (jobs.length > 0) waiting.set(accountId, jobs);
    running += 1;
    start();
  }

  return {
    async take(accountId, job) {
      await new Promise<void>((start) => {
        const jobs = waiting.get(accountId) ?? [];
        jobs.push(start);
        waiting.set(accountId, jobs);
        callNext();
      });
      try {
        return await job();
      } finally {
        running -= 1;
        callNext();
      }
    },
  };
}
