export function median<T>(items: readonly T[], pick: (item: T) => number): number {
  return percentile(items.map(pick), 0.5);
}

/** @param share from 0 to 1. */
export function percentile(values: Iterable<number>, share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
