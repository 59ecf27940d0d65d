/** Measures the longest pause between events of one kind. */
export function stopwatch() {
  let longest = 0;
  let last = performance.now();
  return {
    note() {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    },
    /** The longest pause since the last call, in seconds. */
    read(): number {
      const seconds = Math.max(longest, performance.now() - last) / 1000;
      longest = 0;
      return seconds;
    },
  };
}
