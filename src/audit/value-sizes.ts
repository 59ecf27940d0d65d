import { createHash } from 'node:crypto';

export type Values = Readonly<Record<string, unknown>>;

/** The values of an entry: the new ones, and the ones that they replaced. */
export type EntryValues = { changes: Values; previous?: Values | undefined };

/** Entries are stored forever, so no account may store much in one. */
const MAX_VALUE_BYTES = 512;
const MAX_ENTRY_BYTES = 4_096;

type Place = { side: keyof EntryValues; name: string; json: string; bytes: number };

/**
 * Replaces values with the size and the hash of their JSON: those over 512 bytes and, if an entry has more than 4 KB of
 * values, its largest ones.
 */
export function shrinkValues({ changes, previous }: EntryValues): EntryValues {
  const shrunk = { changes: { ...changes }, previous: previous && { ...previous } };
  const places = [...placesIn('changes', changes), ...placesIn('previous', previous ?? {})];
  let total = places.reduce((sum, { bytes }) => sum + bytes, 0);
  for (const { side, name, json, bytes } of places.sort((left, right) => right.bytes - left.bytes)) {
    const hash = { bytes, sha256: createHash('sha256').update(json).digest('hex') };
    const saved = bytes - bytesOf(JSON.stringify(hash));
    if ((bytes <= MAX_VALUE_BYTES && total <= MAX_ENTRY_BYTES) || saved <= 0) break;
    shrunk[side]![name] = hash;
    total -= saved;
  }
  return shrunk;
}

function placesIn(side: keyof EntryValues, values: Values): Place[] {
  return Object.entries(values).map(([name, value]) => {
    const json = JSON.stringify(value);
    return { side, name, json, bytes: bytesOf(json) };
  });
}

const bytesOf = (text: string) => Buffer.byteLength(text);
