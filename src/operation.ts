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

/** Runs a job when the caller's place in the queue is reached. */
type Schedule = <T>(job: () => Promise<T>) => Promise<T>;

/** Limits how many jobs run at the same time, and treats accounts fairly. */
export type FairQueue = { run<T>(accountId: string, job: () => Promise<T>): Promise<T> };

/** How long callers wait for their operations. */
export const OPERATION_MILLISECONDS = 10_000;

type State = Operation & { beginChange(): Change; schedule: Schedule };

const storage = new AsyncLocalStorage<State>();

const RETRY_AFTER_SECONDS = 1;

/** @param schedule decides when the operation may use a database connection. */
export function startOperation(milliseconds: number, schedule: Schedule = (job) => job()): Operation {
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
    schedule,
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
export function withinDeadline<T>(work: () => T | Promise<T>): T | Promise<T> {
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
 * Runs a job that uses a database connection, once the queue lets the current operation through. Jobs inside this job
 * don't wait, because jobs could then wait for each other.
 *
 * @throws AppError if the deadline passes before the job starts.
 */
export function runScheduled<T>(job: () => Promise<T>): Promise<T> {
  const operation = storage.getStore();
  if (!operation) return job();
  return operation.schedule(async () => {
    if (operation.isOver()) throw operation.refusal();
    return storage.run({ ...operation, schedule: (inner) => inner() }, job);
  });
}

/** Runs work that isn't part of the current operation, such as work for several callers. */
export function outsideOperation<T>(work: () => T): T {
  return storage.exit(work);
}
