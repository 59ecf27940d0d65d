let clock = Date.now;

/**
 * Milliseconds since 1970 by the clock that all processes of a deployment share: the database's, once it is open. Use
 * it for times that other processes read, because the clock of this machine may be wrong.
 */
export const sharedNow = (): number => clock();

/** Makes `sharedNow` use this clock. */
export function followClock(milliseconds: () => number): void {
  clock = milliseconds;
}
