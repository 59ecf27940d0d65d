import { LRUCache } from 'lru-cache';

export type Lru<Value extends NonNullable<unknown>> = LRUCache<string, Value>;

/**
 * A cache that forgets the entries that were used least recently. The library's `max` isn't used because it allocates
 * memory for all entries in advance.
 *
 * @param dispose called with every value that is forgotten, replaced, or deleted.
 */
export function createLru<Value extends NonNullable<unknown>>(
  maxEntries: number,
  dispose?: (value: Value) => void,
): Lru<Value> {
  return new LRUCache({ maxSize: maxEntries, sizeCalculation: () => 1, ...(dispose && { dispose }) });
}
