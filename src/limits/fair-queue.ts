import type { FairQueue } from '../operation.ts';

type Account = { running: number; waiting: (() => void)[] };

/**
 * Lets the jobs of an account or a client address use at most a quarter of the database connections, because everyone
 * else has to share the rest.
 */
export function createConnectionShares(poolSize: number): FairQueue {
  return createFairQueue({ perAccount: Math.max(2, Math.floor(poolSize / 4)), perProcess: Infinity });
}

/**
 * Limits how many jobs run at the same time, for each account and in total, and lets accounts take turns. An account's
 * jobs start in order. No matter how many jobs it has, it leaves the other slots to other accounts.
 */
export function createFairQueue({ perAccount, perProcess }: { perAccount: number; perProcess: number }): FairQueue {
  const accounts = new Map<string, Account>();
  /** Accounts with waiting jobs that may run more of them. The account whose turn is next comes first. */
  const ready = new Set<string>();
  let running = 0;

  function lineUp(accountId: string, account: Account): void {
    if (account.waiting.length > 0 && account.running < perAccount) ready.add(accountId);
    if (account.waiting.length === 0 && account.running === 0) accounts.delete(accountId);
  }

  function callNext(): void {
    const [accountId] = ready;
    if (accountId === undefined || running >= perProcess) return;
    const account = accounts.get(accountId)!;
    const start = account.waiting.shift()!;
    running += 1;
    account.running += 1;
    ready.delete(accountId);
    lineUp(accountId, account);
    start();
  }

  return {
    async run(accountId, job) {
      const account = accounts.get(accountId) ?? { running: 0, waiting: [] };
      accounts.set(accountId, account);
      await new Promise<void>((start) => {
        account.waiting.push(start);
        lineUp(accountId, account);
        callNext();
      });
      try {
        return await job();
      } finally {
        running -= 1;
        account.running -= 1;
        lineUp(accountId, account);
        callNext();
      }
    },
  };
}
