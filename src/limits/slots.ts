import { AppError } from '../errors.ts';

export type SlotLimits = {
  perAccount: number;
  perProcess: number;
  /** How many of the process's slots are reserved for accounts that don't have one yet. Default: 0. */
  forNewAccounts?: number;
};

export type Slots = {
  /**
   * Reserves a slot. Call the returned function to release it.
   *
   * @throws AppError `RATE_LIMITED` if the account has no slots left, or `UNAVAILABLE` if this process has none.
   */
  take(accountId: string): () => void;
};

/**
 * Limits how many operations of one kind an account and a process can run at the same time.
 *
 * @param texts what callers are told if their account or the process has no slots left.
 * @param retryAfterSeconds how long callers are told to wait. Most slots should be released in less time.
 */
export function createSlots(
  limits: SlotLimits,
  { texts, retryAfterSeconds }: { texts: { account: string; process: string }; retryAfterSeconds: number },
): Slots {
  const byAccount = new Map<string, number>();
  let total = 0;

  function add(accountId: string, count: number): void {
    total += count;
    const taken = (byAccount.get(accountId) ?? 0) + count;
    if (taken > 0) byAccount.set(accountId, taken);
    else byAccount.delete(accountId);
  }

  return {
    take(accountId) {
      const own = byAccount.get(accountId) ?? 0;
      if (own >= limits.perAccount) {
        throw new AppError('RATE_LIMITED', { detail: texts.account, retryAfterSeconds });
      }
      const reserved = own > 0 ? (limits.forNewAccounts ?? 0) : 0;
      if (total >= limits.perProcess - reserved)
        throw new AppError('UNAVAILABLE', { detail: texts.process, retryAfterSeconds });
      add(accountId, 1);
      let isTaken = true;
      return () => {
        if (isTaken) add(accountId, -1);
        isTaken = false;
      };
    },
  };
}
