/** Lists are counted exactly up to this many items, so that a count never reads more index entries than this. */
export const COUNT_LIMIT = 10_000;

/** The maximum number of items to count: one more than the limit, to detect that there are more. */
export const COUNT_AT_MOST = COUNT_LIMIT + 1;

/** A count up to `COUNT_AT_MOST`, or null if it is above the limit. */
export function exactCount(count: number): number | null {
  return count > COUNT_LIMIT ? null : count;
}
