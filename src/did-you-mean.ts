import { distance } from 'fastest-levenshtein';

/** Longer names are unlikely to be typos, and comparing them is slow. */
const MAX_LENGTH = 64;

/** A sentence that suggests the most similar known name, preceded by a space. Empty if none is similar. */
export function didYouMean(given: string, known: Iterable<string>): string {
  if (given.length > MAX_LENGTH) return '';
  const asked = given.toLowerCase();
  // The same threshold as in GraphQL's own suggestions.
  const mostEdits = Math.floor(given.length * 0.4) + 1;
  const [nearest] = [...known]
    .map((name) => ({ name, edits: distance(asked, name.toLowerCase()) }))
    .filter(({ edits }) => edits <= mostEdits)
    .toSorted((first, second) => first.edits - second.edits);
  return nearest === undefined ? '' : ` Did you mean \`${nearest.name}\`?`;
}

/** Like `didYouMean`, but if no name is similar, the sentence lists all of them. Empty if there are none. */
export function nameFields(given: string, known: readonly string[]): string {
  const all = known.length > 0 ? ` The fields are ${known.join(', ')}.` : '';
  return didYouMean(given, known) || all;
}

/** Lists the allowed values and suggests the most similar one. */
export function mustBeOneOf(given: unknown, values: readonly string[]): string {
  const nearest = typeof given === 'string' ? didYouMean(given, values) : '';
  return `Must be ${values.length === 1 ? '' : 'one of '}${values.join(', ')}.${nearest}`;
}
