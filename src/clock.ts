let clock = Date.now;

/**
 * Milliseconds since 1970 by the clock that the processes of a deployment share: that of the database, once it is open.
 * For what others read; that of the machine may be wrong.
 */
export const sharedNow = (): number => clock();

/** From now on `sharedNow` tells what `milliseconds` does. */
export function followClock(milliseconds: () => number): void {
  clock = milliseconds;
}
