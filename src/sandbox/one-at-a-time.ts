/**
 * Runs what it is given one after the other, whatever becomes of each. Transactions of one account need successive
 * numbers, which only the chain knows for sure: the next one is counted when the one before has been sent.
 */
export function oneAtATime(): <T>(run: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const result = last.then(run);
    last = result.catch(() => {});
    return result;
  };
}
