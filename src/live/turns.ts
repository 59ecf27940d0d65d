export type Turns = {
  /** Runs a job in the turn of an account. */
  take<T>(accountId: string, job: () => Promise<T>): Promise<T>;
};

/**
 * Lets jobs run, at most so many at once, the accounts in turn: the thousand subscriptions of one delay those of another
 * by one job, and leave connections of the database for everything else.
 */
export function createTurns(atOnce: number): Turns {
  /** What waits, by account; the account that comes next is first. */
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
