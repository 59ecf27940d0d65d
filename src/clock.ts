let clock = (): number => Date.now();

/**
 * Milliseconds since 1970 on the clock shared by all processes in a deployment: the database's clock, once the database
 * is open. Use it for times that other processes read, because this machine's clock may be wrong.
 */
export const sharedNow = (): number => clock();

/** Makes `sharedNow` use this clock. */
export function followClock(milliseconds: () => number): void {
  clock = milliseconds;
}
