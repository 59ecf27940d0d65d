/**
 * A list without duplicates. Callers can repeat the values of a filter thousands of times, but a statement can't
 * have more than tens of thousands of parameters, and planning one with that many takes seconds.
 */
export function distinct<Value>(values: readonly Value[]): Value[] {
  return [...new Set(values)];
}
