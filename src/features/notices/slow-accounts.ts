/** Most services respond to a short message much sooner. */
const SLOW_AFTER_MILLISECONDS = 1_000;
/** How long an account counts as slow. Without this, the same accounts could delay others again with each message. */
const SLOW_FOR_MILLISECONDS = 3_600_000;
const MAX_REMEMBERED = 5_000;

/** Remembers the accounts with contacts that recently took a long time to respond. */
export function createSlowAccounts(now: () => number = () => performance.now()) {
  /** When each account stops counting as slow, the earliest first. */
  const until = new Map<string, number>();

  function add(account: string): void {
    until.delete(account);
    until.set(account, now() + SLOW_FOR_MILLISECONDS);
    for (const [oldest, end] of until) {
      if (end > now() && until.size <= MAX_REMEMBERED) return;
      until.delete(oldest);
    }
  }

  const has = (account: string): boolean => (until.get(account) ?? 0) > now();

  return {
    has,
    list: (): string[] => [...until.keys()].filter(has),

    /** Adds the account as soon as a request to its contact takes too long. Returns the request's result. */
    async watch<Result>(account: string, request: Promise<Result>, onSlow: () => void): Promise<Result> {
      const timer = setTimeout(() => {
        add(account);
        onSlow();
      }, SLOW_AFTER_MILLISECONDS);
      return request.finally(() => clearTimeout(timer));
    },
  };
}
