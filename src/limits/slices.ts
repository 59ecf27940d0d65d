import { setImmediate as nextTurn } from 'node:timers/promises';
import { createFairQueue } from './fair-queue.ts';

/** Long enough for dozens of small pieces, and short enough that nobody notices. */
const SLICE_MILLISECONDS = 10;

/** Starts a piece of an account's work when there is time for it. */
export type InSlices = <T>(accountId: string, start: () => T | Promise<T>) => Promise<T>;

/**
 * Starts pieces of work that can become ready thousands at a time. Each is short, but together they would keep the process
 * busy for seconds, so other work is done after each slice of 10 ms. Accounts take turns.
 *
 * Unlike `createTurns`, this doesn't wait until a piece is done. It only waits until the piece waits for something itself.
 */
export function createSlices({
  sliceMilliseconds = SLICE_MILLISECONDS,
  now = () => performance.now(),
}: {
  sliceMilliseconds?: number;
  now?: () => number;
} = {}): InSlices {
  const queue = createFairQueue({ perAccount: 1, perProcess: 1 });
  /** When the slice in this turn of the event loop ends, if there is one. */
  let endsAt: number | undefined;
  /** The number of pieces in the queue. */
  let waiting = 0;

  /** Whether there is time left in this turn. The first piece in a turn starts its slice. */
  function hasTime(): boolean {
    if (endsAt !== undefined) return now() < endsAt;
    endsAt = now() + sliceMilliseconds;
    setImmediate(() => {
      endsAt = undefined;
    });
    return true;
  }

  return async (accountId, start) => {
    if (waiting === 0 && hasTime()) return start();
    waiting += 1;
    // The queue waits for what its job returns, so the result is in an object.
    const { result } = await queue.run(accountId, async () => {
      while (!hasTime()) await nextTurn();
      waiting -= 1;
      return { result: (async () => start())() };
    });
    return result;
  };
}
