import { createLru } from '../lru.ts';

/** Finds texts in one value. `starts`: where its suffixes start, in their alphabetical order; built when it is worth it. */
type Search = { count: number; starts?: Uint16Array };

/** In shorter values, any text is found quickly. */
const SHORT_LENGTH = 64;
/** No event has longer values. */
const MAX_LENGTH = 65_535;
/** More searches than a few destinations need. Sorting the suffixes takes as long as about this many. */
const SEARCHES_BEFORE_SORTING = 50;
/** Events in a batch are often about the same endpoint. */
const MAX_REMEMBERED = 8;

const searches = createLru<Search>(MAX_REMEMBERED);

/**
 * The same as `value.includes(text)`. That takes time for each character of the value, and the filters of an event's
 * destinations can have ten thousand texts, so the suffixes of a long value are sorted once. Each search is then a
 * binary search.
 */
export function containsText(value: string, text: string): boolean {
  if (value.length <= SHORT_LENGTH || value.length > MAX_LENGTH) return value.includes(text);
  const search = searches.get(value) ?? { count: 0 };
  searches.set(value, search);
  search.count += 1;
  if (search.count <= SEARCHES_BEFORE_SORTING) return value.includes(text);
  search.starts ??= sortedSuffixes(value);
  const { starts } = search;
  let [from, to] = [0, starts.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    const start = starts[middle]!;
    if (value.slice(start, start + text.length) < text) from = middle + 1;
    else to = middle;
  }
  return from < starts.length && value.startsWith(text, starts[from]!);
}

function sortedSuffixes(value: string): Uint16Array {
  const suffixes = Array.from({ length: value.length }, (_, start) => value.slice(start)).sort();
  return Uint16Array.from(suffixes, ({ length }) => value.length - length);
}
