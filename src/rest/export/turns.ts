import { setImmediate } from 'node:timers/promises';
import { createFairQueue } from '../../limits/fair-queue.ts';

/** A page keeps a processor busy for up to a tenth of a second, so few of them may be in progress. */
const STEPS_AT_ONCE = 2;
/** A step that takes longer is waiting for the database, and doesn't keep the process from doing other work. */
const TURN_MILLISECONDS = 500;

export type TurnOptions = { stepsAtOnce?: number; turnMilliseconds?: number };

/** Runs a step of an account's export when it is its turn. */
export type InTurn = <T>(accountId: string, step: () => T | Promise<T>) => Promise<T>;

/**
 * Lets the exports of all accounts take turns at reading and formatting a page. Every other request needs several turns
 * of the event loop. If all exports did a step in each of these, everyone else would have to wait for seconds.
 */
export function createExportTurns({
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
