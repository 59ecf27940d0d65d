import { AppError } from '../../../errors.ts';

/** The maximum number of documents that are read at the same time, with at most one per account. */
export const MAX_AT_ONCE = 2;
/** The maximum number of an account's documents that are being read or waiting. */
const MAX_PER_ACCOUNT = 4;
const MAX_WAITING = 20;
const RETRY_AFTER_SECONDS = 5;

type Waiting = { accountId: string; enter: () => void; refuse: (error: AppError) => void };

export type ReadingSlots = {
  /**
   * Waits until a document can be read. Call the returned function when it has been read.
   *
   * @throws AppError `RATE_LIMITED` if the account has too many documents, or `UNAVAILABLE` if too many are waiting,
   *   which can happen later too, or if the signal aborts first.
   */
  take(accountId: string, signal: AbortSignal): Promise<() => void>;
};

function queueFull(): AppError {
  const detail = 'Too many documents are waiting to be read. Retry later.';
  return new AppError('UNAVAILABLE', { detail, retryAfterSeconds: RETRY_AFTER_SECONDS });
}

/** The error for a document that wasn't read in time, because the service is too busy. */
export function notReadInTime(): AppError {
  return new AppError('UNAVAILABLE', {
    detail: 'There wasn’t enough time to read the document. Nothing was changed. Retry later.',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}

/** The error for a document that can't be read, because the program that reads it can't be started. */
export function notStarted(cause: unknown): AppError {
  const detail = 'The document can’t be read at the moment. Nothing was changed. Retry later.';
  return new AppError('UNAVAILABLE', { detail, retryAfterSeconds: RETRY_AFTER_SECONDS, cause });
}

/**
 * Accounts take turns. After each document, an account goes to the end of the line. If the line is full, accounts with
 * many documents make room for those with few.
 */
export function createReadingSlots(): ReadingSlots {
  const reading = new Set<string>();
  let waiting: Waiting[] = [];

  function fill(): void {
    while (reading.size < MAX_AT_ONCE) {
      const next = waiting.find(({ accountId }) => !reading.has(accountId));
      if (!next) return;
      remove(next);
      reading.add(next.accountId);
      next.enter();
    }
  }

  function remove(one: Waiting): void {
    waiting = waiting.filter((other) => other !== one);
  }

  function leave(accountId: string): void {
    reading.delete(accountId);
    const isOwn = (one: Waiting) => one.accountId === accountId;
    waiting = [...waiting.filter((one) => !isOwn(one)), ...waiting.filter(isOwn)];
    fill();
  }

  const waitingOf = (accountId: string) => waiting.filter((one) => one.accountId === accountId).length;

  /** The newest document of an account with the most. Undefined if this account would then have as many. */
  function nextToDrop(accountId: string): Waiting | undefined {
    const most = Math.max(...waiting.map((one) => waitingOf(one.accountId)));
    if (most <= waitingOf(accountId) + 1) return undefined;
    return waiting.findLast((one) => waitingOf(one.accountId) === most);
  }

  function requireCapacity(accountId: string): void {
    const own = waitingOf(accountId) + (reading.has(accountId) ? 1 : 0);
    if (own >= MAX_PER_ACCOUNT) {
      const detail = `${MAX_PER_ACCOUNT} of your documents are already being read or waiting, which is the limit. Wait for one of these requests to finish, then retry.`;
      throw new AppError('RATE_LIMITED', { detail, retryAfterSeconds: RETRY_AFTER_SECONDS });
    }
    if (waiting.length < MAX_WAITING) return;
    const dropped = nextToDrop(accountId);
    if (!dropped) throw queueFull();
    remove(dropped);
    dropped.refuse(queueFull());
  }

  return {
    async take(accountId, signal) {
      if (signal.aborted) throw notReadInTime();
      requireCapacity(accountId);
      const { promise, resolve: enter, reject: refuse } = Promise.withResolvers<void>();
      const one = { accountId, enter, refuse };
      const giveUp = () => {
        remove(one);
        refuse(notReadInTime());
      };
      signal.addEventListener('abort', giveUp, { once: true });
      waiting.push(one);
      fill();
      try {
        await promise;
      } finally {
        signal.removeEventListener('abort', giveUp);
      }
      return () => leave(accountId);
    },
  };
}
