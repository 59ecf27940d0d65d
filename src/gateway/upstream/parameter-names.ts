/** What a query sets, in every way that common servers read it. Separators are replaced, as in `filter_city`. */
export type ParameterNames = {
  names: ReadonlySet<string>;
  /** The parents of these names, such as `filter` for `filter[city]`. */
  parents: ReadonlySet<string>;
};

/**
 * Reads the names in a query, without its question mark. Servers differ, so each name has several readings. It's better
 * to reject a parameter that a server would ignore than to let a buyer change what the seller set.
 *
 * @param longestParent longer parents are left out. A long name can have many, and each takes time to compare.
 */
export function parameterNames(query: string, longestParent = Infinity): ParameterNames {
  const names = new Set<string>();
  const parents = new Set<string>();
  for (const name of distinctNames(query)) {
    if (PLAIN.test(name)) {
      names.add(name.toLowerCase());
      continue;
    }
    for (const reading of readings(name)) {
      const levels = levelsOf(reading, longestParent);
      if (levels.name) names.add(levels.name);
      for (const parent of levels.parents) parents.add(parent);
    }
  }
  return { names, parents };
}

/** The length of the longest name. */
export function longestOf({ names }: ParameterNames): number {
  let longest = 0;
  for (const { length } of names) longest = Math.max(longest, length);
  return longest;
}

/**
 * Whether two queries set the same parameter, or one of them sets a parent of it. Where brackets create nested
 * parameters, `key[a]` sets part of `key`, while `key[a]` and `key[b]` are independent.
 */
export function overlap(one: ParameterNames, other: ParameterNames): boolean {
  const isShared = [...one.names].some((name) => other.names.has(name) || other.parents.has(name));
  return isShared || [...one.parents].some((parent) => other.names.has(parent));
}

/** The pairs of a query. Some servers also split at semicolons. */
export const splitPairs = (query: string) => query.split(/[&;]/);

/** A name as PHP reads it, to show to people. */
export const readableName = (name: string) => trimmed(decoded(name)).replace(/[ .]/g, '_');

/** The names in a query, as they are written. */
export const distinctNames = (query: string): ReadonlySet<string> =>
  new Set(splitPairs(query).map(nameOf).filter(Boolean));

/** Every server reads these names in the same way, except for their case. */
const PLAIN = /^[\w-]+$/;

const nameOf = (pair: string) => pair.split('=', 1)[0]!;

function readings(name: string): Set<string> {
  const decodings = [decoded(name), decoded(withoutAspEscapes(name))].map(trimmed);
  return new Set(decodings.flatMap((reading) => [reading, withSingleBrackets(reading)]));
}

/**
 * Decodes plus signs and escapes. Bytes that aren't UTF-8 are replaced: servers accept them, so they can't end decoding.
 * Plus signs are decoded last, because some servers treat `+` and `%2B` the same.
 */
function decoded(name: string): string {
  const bytes = name.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8').replaceAll('+', ' ');
}

/** ASP and ASP.NET decode `%u0064`, and ASP ignores percent signs that don't start an escape. */
function withoutAspEscapes(name: string): string {
  return name.replace(/%u([0-9a-f]{4})|%(?![0-9a-f]{2})/gi, (_, hex?: string) => {
    if (hex === undefined) return '';
    const bytes = Buffer.from(String.fromCharCode(Number.parseInt(hex, 16)));
    return bytes.toString('hex').replace(/../g, '%$&');
  });
}

/** PHP ends names at a null byte and drops leading spaces. In ASP.NET, names are case-insensitive. */
const trimmed = (name: string) => name.split('\0', 1)[0]!.trimStart().toLowerCase();

/** Rack ignores extra brackets, so that `[key]` is `key`. With `allowDots`, qs reads dots as brackets. */
const withSingleBrackets = (name: string) =>
  name
    .trimEnd()
    .split(/[.[\]]+/)
    .filter(Boolean)
    .join('[');

/**
 * Servers drop or reject parameters with more levels; PHP allows 64 (`max_input_nesting_level`). A name can have thousands
 * of brackets, and comparing that many parents took 0.2 s.
 */
const MAX_LEVELS = 100;

/** PHP replaces spaces, dots, and unclosed brackets with underscores, and ignores text after a closed bracket. */
function levelsOf(reading: string, longestParent: number): { name: string; parents: ReadonlySet<string> } {
  const parents = new Set<string>();
  let name = '';
  for (const part of reading.replaceAll(' ', '_').split(/([.[\]])/)) {
    const isSeparator = part === '.' || part === '[' || part === ']';
    const isParent = isSeparator && name !== '' && name.length <= longestParent;
    if (isParent && parents.size < MAX_LEVELS) parents.add(name);
    if (part !== ']') name += isSeparator ? '_' : part;
  }
  return { name, parents };
}
