import type { FairQueue } from '../operation.ts';

type Account = { running: number; waiting: (() => void)[] };

/**
 * Lets the jobs of an account or a client address use at most a quarter of the database connections, because everyone
 * else has to share the rest. Once half of the connections are in use, each can use only one, so that a few of them
 * together can't use all connections either.
 */
export function createConnectionShares(poolSize: number): FairQueue {
  const perAccount = Math.max(2, Math.floor(poolSize / 4));
  return createFairQueue({ perAccount, perProcess: Infinity, severalEach: Math.ceil(poolSize / 2) });
}

/**
 * Limits how many jobs run at the same time, for each account and in total, and lets accounts take turns. An account's
 * jobs start in order. No matter how many jobs it has, it leaves the other slots to other accounts.
 *
 * @param options `severalEach`: while so many jobs are running, an account that is running one doesn't start another.
 */
export function createFairQueue(options: { perAccount: number; perProcess: number; severalEach?: number }): FairQueue {
  const { perAccount, perProcess, severalEach = Infinity } = options;
  const accounts = new Map<string, Account>();
  /** Accounts with waiting jobs that may run more of them. The account whose turn is next comes first. */
  const ready = new Set<string>();
  /** Those of them that aren't running any job. */
  const readyToStart = new Set<string>();
  let running = 0;

  function lineUp(accountId: string, account: Account): void {
    if (account.waiting.length > 0 && account.running < perAccount) ready.add(accountId);
    if (account.waiting.length > 0 && account.running === 0) readyToStart.add(accountId);
    if (account.waiting.length === 0 && account.running === 0) accounts.delete(accountId);
  }

  /** @returns whether a job was started. */
  function callNext(): boolean {
    const [accountId] = running < severalEach ? ready : readyToStart;
    if (accountId === undefined || running >= perProcess) return false;
    const account = accounts.get(accountId)!;
    const start = account.waiting.shift()!;
    running += 1;
    account.running += 1;
    ready.delete(accountId);
    readyToStart.delete(accountId);
    lineUp(accountId, account);
    start();
    return true;
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
        while (callNext());
      }
    },
  };
}
