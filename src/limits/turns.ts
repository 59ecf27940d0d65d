import { setImmediate } from 'node:timers/promises';
import { createFairQueue } from './fair-queue.ts';

/** A step keeps the process busy for up to a tenth of a second, so few of them may be in progress. */
const STEPS_AT_ONCE = 2;
/** A step that takes longer is waiting for the database, and doesn't keep the process from doing other work. */
const TURN_MILLISECONDS = 500;

export type TurnOptions = { stepsAtOnce?: number; turnMilliseconds?: number };

/** Runs a step of an account's work when it is its turn. */
export type InTurn = <T>(accountId: string, step: () => T | Promise<T>) => Promise<T>;

/**
 * Lets accounts take turns at steps that keep the process busy, such as reading or formatting a page of an export. Every
 * other request needs several turns of the event loop. If all of these steps were done in each of them, everyone else would
 * have to wait for seconds.
 */
export function createTurns({
  stepsAtOnce = STEPS_AT_ONCE,
  turnMilliseconds = TURN_MILLISECONDS,
}: TurnOptions = {}): InTurn {
  const queue = createFairQueue({ perAccount: 1, perProcess: stepsAtOnce });

  return async (accountId, step) => {
    // The queue waits for what its job returns, so the result is in an object.
    const { result } = await queue.run(accountId, async () => {
      // The process does other work between two steps, even if neither of them waits for anything.
      await setImmediate();
      const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
      const timer = setTimeout(end, turnMilliseconds);
      const result = (async () => step())();
      result.then(
        () => end(),
        () => end(),
      );
      await isOver;
      clearTimeout(timer);
      return { result };
    });
    return result;
  };
}
