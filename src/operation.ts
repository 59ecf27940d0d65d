import { AsyncLocalStorage } from 'node:async_hooks';
import { AppError } from './errors.ts';

/** Something that a caller waits for, with a deadline. When that has passed, nothing of it is begun any more. */
export type Operation = {
  isOver(): boolean;
  /** Rejects when the time is up. */
  over: Promise<never>;
  /** Says what the caller is to know of the deadline: whether something was changed. */
  refusal(): AppError;
  /** Runs something as a part of this operation. */
  run<T>(work: () => T): T;
  /** It has ended in time. */
  end(): void;
};

/** A change that is being made for good. */
export type Change = {
  /** It was not made after all. */
  undone(): void;
  /** Nobody knows whether it was made. */
  uncertain(cause: unknown): AppError;
};

type State = Operation & { beginChange(): Change };

const storage = new AsyncLocalStorage<State>();

const RETRY_AFTER_SECONDS = 1;

export function startOperation(milliseconds: number): Operation {
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
    over,
    isOver: () => isOver,
    refusal() {
      if (changes > 0) {
        return new AppError('OUTCOME_UNCERTAIN', {
          detail: `This took longer than ${seconds} seconds and was stopped. Some of its changes were made: read the state, then send what is missing.`,
        });
      }
      return new AppError('UNAVAILABLE', {
        detail: `This took longer than ${seconds} seconds and was stopped. Nothing was changed. Ask for less at once, or try again.`,
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
 * Does a part of the current operation. Without one it is simply done.
 *
 * @throws AppError when the time is up: before it began, or while it was waited for.
 */
export function beforeTimeIsUp<T>(work: () => T | Promise<T>): T | Promise<T> {
  const operation = storage.getStore();
  if (operation?.isOver()) throw operation.refusal();
  const result = work();
  return operation && result instanceof Promise ? Promise.race([result, operation.over]) : result;
}

/**
 * To be called right before a change is made for good, such as a commit. From then on the caller is told of it. Undefined
 * where no operation is under way.
 *
 * @throws AppError when the time is up: whoever asked for it may have been told that nothing was changed.
 */
export function beginChange(): Change | undefined {
  return storage.getStore()?.beginChange();
}
