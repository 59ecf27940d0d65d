import { distance } from 'fastest-levenshtein';

/** Longer segments aren't typos, and comparing them would take a long time. */
const MAX_SEGMENT_LENGTH = 64;
const MAX_SEGMENTS = 10;

/**
 * Finds the path that a caller most likely meant.
 *
 * @param templates the paths that exist, with parameters such as `:projectId`.
 * @returns a function that takes a path that doesn't exist and returns the most similar one that does, with the
 *   caller's IDs. Undefined if none is similar.
 */
export function createSimilarPath(templates: Iterable<string>): (path: string) => string | undefined {
  const known = [...new Set(templates)].map((template) => template.split('/'));

  return (path) => {
    // Callers are used to other APIs, where paths have a version or a trailing slash.
    const given = path
      .slice(0, endOf(path))
      .replace(/^\/api\/v\d+(?=\/)/, '/api')
      .split('/');
    if (given.length > MAX_SEGMENTS || given.some(({ length }) => length > MAX_SEGMENT_LENGTH)) return undefined;
    const [nearest] = known
      .filter((template) => template.length === given.length)
      .map((template) => ({ template, edits: editsBetween(given, template) }))
      .filter(({ edits }) => Number.isFinite(edits))
      .toSorted((first, second) => first.edits - second.edits);
    return nearest?.template.map((segment, index) => (isParameter(segment) ? given[index] : segment)).join('/');
  };
}

/** Where the slashes at the end begin. A pattern would look through each run of slashes once for each of its slashes. */
function endOf(path: string): number {
  let end = path.length;
  while (path[end - 1] === '/') end -= 1;
  return end;
}

/** The number of typos in all segments, or infinity if one of them is a different word. A parameter takes any value. */
function editsBetween(given: readonly string[], template: readonly string[]): number {
  const edits = template.map((segment, index) => {
    const word = given[index]!.toLowerCase();
    if (isParameter(segment)) return word === '' ? Number.POSITIVE_INFINITY : 0;
    const count = distance(word, segment);
    // The same threshold as for the names of fields.
    return count <= Math.floor(word.length * 0.4) + 1 ? count : Number.POSITIVE_INFINITY;
  });
  return edits.reduce((sum, count) => sum + count, 0);
}

const isParameter = (segment: string) => segment.startsWith(':');
