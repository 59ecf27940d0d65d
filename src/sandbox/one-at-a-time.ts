/**
 * Runs functions one after the other, even if some fail. An account's transactions need consecutive nonces, which only
 * the chain knows for sure, so each one waits for the previous one.
 */
export function oneAtATime(): <T>(run: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const result = last.then(run);
    last = result.catch(() => {});
    return result;
  };
}
