import { AsyncLocalStorage } from 'node:async_hooks';
import { AppError } from './errors.ts';

/** Work that a caller is waiting for, with a deadline. Nothing more is started after the deadline. */
export type Operation = {
  isOver(): boolean;
  /** Rejects at the deadline. */
  over: Promise<never>;
  /** The error for the caller after the deadline. It says whether anything was changed. */
  refusal(): AppError;
  /** Runs a function as part of this operation. */
  run<T>(work: () => T): T;
  /** Call this if the operation finishes before the deadline. */
  end(): void;
};

/** A change that is being committed. */
export type Change = {
  /** Call this if the change wasn't made. */
  undone(): void;
  /** Call this if it is unknown whether the change was made. */
  uncertain(cause: unknown): AppError;
};

/** Runs a job when it's the caller's turn. */
type TakeTurn = <T>(job: () => Promise<T>) => Promise<T>;

/** Runs a job when it's the account's turn. */
export type AccountTurns = { take<T>(accountId: string, job: () => Promise<T>): Promise<T> };

type State = Operation & { beginChange(): Change; takeTurn: TakeTurn };

const storage = new AsyncLocalStorage<State>();

const RETRY_AFTER_SECONDS = 1;

/** @param takeTurn decides when the operation may use a database connection. */
export function startOperation(milliseconds: number, takeTurn: TakeTurn = (job) => job()): Operation {
  const seconds = milliseconds / 1000;
  const { promise: over, reject } = Promise.withResolvers<never>();
  over.catch(() => {});
  let isOver = false;
  let changes = 0;
  const timer = setTimeout(() => {
    isOver = true;
    reject(operation.refusal());
  }, milliseconds);

  const operation: State = {
    takeTurn,
    over,
    isOver: () => isOver,
    refusal() {
      if (changes > 0) {
        return new AppError('OUTCOME_UNCERTAIN', {
          detail: `The request was stopped after ${seconds} seconds. Some of its changes were applied: check the current state before you retry.`,
        });
      }
      return new AppError('UNAVAILABLE', {
        detail: `The request was stopped after ${seconds} seconds. Nothing was changed. Send a smaller request, or retry.`,
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    },
    run: (work) => storage.run(operation, work),
    end: () => clearTimeout(timer),
    beginChange() {
      if (isOver) throw operation.refusal();
      changes += 1;
      return {
        undone() {
          changes -= 1;
        },
        uncertain: (cause) => new AppError('OUTCOME_UNCERTAIN', { cause }),
      };
    },
  };
  return operation;
}

/**
 * Runs part of the current operation, if there is one.
 *
 * @throws AppError if the deadline passes before the part starts or ends.
 */
export function beforeTimeIsUp<T>(work: () => T | Promise<T>): T | Promise<T> {
  const operation = storage.getStore();
  if (operation?.isOver()) throw operation.refusal();
  const result = work();
  return operation && result instanceof Promise ? Promise.race([result, operation.over]) : result;
}

/**
 * Call this right before a change is committed. From then on, errors tell the caller about the change. Returns
 * undefined outside an operation.
 *
 * @throws AppError after the deadline: the caller may already have a response that says nothing was changed.
 */
export function beginChange(): Change | undefined {
  return storage.getStore()?.beginChange();
}

/**
 * Runs a job that uses a database connection, when it's the current operation's turn. Jobs inside this job don't wait
 * for a turn, because jobs could then wait for each other.
 *
 * @throws AppError if the deadline passes before the job starts.
 */
export function inTurn<T>(job: () => Promise<T>): Promise<T> {
  const operation = storage.getStore();
  if (!operation) return job();
  return operation.takeTurn(async () => {
    if (operation.isOver()) throw operation.refusal();
    return storage.run({ ...operation, takeTurn: (inner) => inner() }, job);
  });
}

/** Runs work that isn't part of the current operation, such as work for several callers. */
export function outsideOperation<T>(work: () => T): T {
  return storage.exit(work);
}
