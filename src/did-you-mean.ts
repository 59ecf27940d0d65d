import { distance } from 'fastest-levenshtein';

/** Longer names are unlikely to be typos, and comparing them is slow. */
const MAX_LENGTH = 64;

/**
 * A sentence that suggests the most similar known name, or the only one that contains the given one (`wallet` →
 * `walletAddress`), preceded by a space, or an empty string if no name is similar.
 */
export function didYouMean(given: string, known: Iterable<string>): string {
  if (given.length > MAX_LENGTH) return '';
  const asked = given.toLowerCase();
  // The same threshold as in GraphQL's own suggestions.
  const mostEdits = Math.floor(given.length * 0.4) + 1;
  const lengthsApart = (name: string) => Math.abs(name.length - given.length);
  const [nearest] = [...known]
    .map((name) => ({ name, edits: distance(asked, name.toLowerCase()) }))
    .filter(({ edits }) => edits <= mostEdits)
    // People swap and replace letters more often than they leave out several.
    .toSorted((first, second) => first.edits - second.edits || lengthsApart(first.name) - lengthsApart(second.name));
  const meant = nearest?.name ?? onlyOneContaining(asked, known);
  return meant === undefined ? '' : ` Did you mean \`${meant}\`?`;
}

function onlyOneContaining(asked: string, known: Iterable<string>): string | undefined {
  const word = asked.replace(/s$/, '');
  const containing = word.length < 3 ? [] : [...known].filter((name) => name.toLowerCase().includes(word));
  return containing.length === 1 ? containing[0] : undefined;
}

/** Like `didYouMean`, but if no name is similar, the sentence lists all of them. Empty if there are none. */
export function nameFields(given: string, known: readonly string[]): string {
  return didYouMean(given, known) || listAll('field', known);
}

/** A sentence with all names of one kind, preceded by a space. Empty if there are none. */
export function listAll(kind: string, names: readonly string[]): string {
  if (names.length === 0) return '';
  return names.length === 1 ? ` The only ${kind} is ${names[0]}.` : ` The ${kind}s are ${names.join(', ')}.`;
}

/** Lists the allowed values and suggests the most similar one. */
export function mustBeOneOf(given: unknown, values: readonly string[]): string {
  const nearest = typeof given === 'string' ? didYouMean(given, values) : '';
  return `Must be ${values.length === 1 ? '' : 'one of '}${values.join(', ')}.${nearest}`;
}
