/**
 * Runs functions one after the other, even if some fail. An account's transactions need consecutive nonces, and only
 * the chain knows the next one for sure, so each transaction waits for the previous one.
 */
export function oneAtATime(): <T>(run: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const result = last.then(run);
    last = result.catch(() => {});
    return result;
  };
}
