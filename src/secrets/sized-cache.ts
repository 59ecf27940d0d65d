/** About how much memory an entry takes in addition to its text and bytes. */
const ENTRY_BYTES = 1_024;
/** Entries up to this size are never dropped for larger ones. Most owners have only a few short secrets, which fit. */
const MAX_SMALL_BYTES = 32 * 1_024;
/** Owners of more than this share of a half lose entries first. */
const OWNER_SHARE = 1 / 4;

/**
 * Creates a cache with a limited size. One half is for small entries and one for large ones, so that nobody's large
 * entries push out everyone else's small ones. When a half is full, its least recently used entries are dropped. Owners of more
 * than a quarter of the half lose theirs first, so that nobody's many entries push out everyone else's.
 *
 * @param options `bytesOf`: about how many bytes the text and bytes of an entry take.
 * @returns a function that returns a key's value, and makes it if it isn't in the cache. An entry belongs to the owner that
 *   it was made for. `has`: whether a key's value is in the cache.
 */
export function createSizedCache<Value extends object>(options: {
  maxBytes: number;
  bytesOf: (key: string, value: Value) => number;
}) {
  const sizeOf = (key: string, value: Value) => ENTRY_BYTES + options.bytesOf(key, value);
  const small = createHalf<Value>(options.maxBytes / 2, sizeOf);
  const large = createHalf<Value>(options.maxBytes / 2, sizeOf);

  function cached(key: string, make: () => Value, owner?: string): Value {
    const known = small.get(key) ?? large.get(key);
    if (known) return known;
    const made = make();
    const half = sizeOf(key, made) <= MAX_SMALL_BYTES ? small : large;
    half.add(key, made, owner);
    return made;
  }

  return Object.assign(cached, { has: (key: string): boolean => small.has(key) || large.has(key) });
}

type Owned = { bytes: number; keys: Set<string> };

function createHalf<Value>(maxBytes: number, sizeOf: (key: string, value: Value) => number) {
  // Entries, and each owner's keys, in the order of their last use.
  const entries = new Map<string, { value: Value; bytes: number; owner: string | undefined }>();
  const byOwner = new Map<string, Owned>();
  /** Owners of more than their share. */
  const heavy = new Set<string>();
  let bytes = 0;

  function ownedBy(owner: string): Owned {
    const owned = byOwner.get(owner) ?? { bytes: 0, keys: new Set() };
    byOwner.set(owner, owned);
    return owned;
  }

  function drop(key: string): void {
    const { bytes: dropped, owner } = entries.get(key)!;
    entries.delete(key);
    bytes -= dropped;
    if (owner === undefined) return;
    const owned = ownedBy(owner);
    owned.bytes -= dropped;
    owned.keys.delete(key);
    if (owned.bytes <= maxBytes * OWNER_SHARE) heavy.delete(owner);
    if (owned.keys.size === 0) byOwner.delete(owner);
  }

  function dropNext(): void {
    const [owner] = heavy;
    const [oldest] = owner === undefined ? entries.keys() : ownedBy(owner).keys;
    drop(oldest!);
  }

  return {
    has: (key: string): boolean => entries.has(key),
    get(key: string): Value | undefined {
      const known = entries.get(key);
      if (known === undefined) return undefined;
      entries.delete(key);
      entries.set(key, known);
      if (known.owner !== undefined) {
        const { keys } = ownedBy(known.owner);
        keys.delete(key);
        keys.add(key);
      }
      return known.value;
    },
    add(key: string, value: Value, owner: string | undefined): void {
      const size = sizeOf(key, value);
      entries.set(key, { value, bytes: size, owner });
      bytes += size;
      if (owner !== undefined) {
        const owned = ownedBy(owner);
        owned.bytes += size;
        owned.keys.add(key);
        if (owned.bytes > maxBytes * OWNER_SHARE) heavy.add(owner);
      }
      while (bytes > maxBytes) dropNext();
    },
  };
}
