import { createLru } from '../../lru.ts';
import {
  distinctNames,
  longestOf,
  overlap,
  type ParameterNames,
  parameterNames,
  readableName,
  splitPairs,
} from './parameter-names.ts';

/** The limit for different parameters in a query that is combined with the seller's own. */
const MAX_NAMES = 200;
/** The limit for the parents of all names in such a query that are compared with the seller's names. */
const MAX_PARENTS = 2_000;
/** Reading the names in a seller's query can take milliseconds, so the names in recently used queries are kept. */
const MAX_KEPT_QUERIES = 500;

/** An endpoint's upstream URL, split into the parts that request targets are built from. */
export type Upstream = {
  origin: string;
  /** Path segments. `:name` and a trailing `*` are replaced with parts of the request's path. */
  segments: string[];
  /** The URL's own query, without the question mark. */
  query: string;
  /** Parameter names in that query. They belong to the seller, so callers can't override them. */
  reserved: Reserved;
};

type Reserved = ParameterNames & { longest: number };

const NOTHING: Reserved = reservedIn('');
/** By query. */
const kept = createLru<Reserved>(MAX_KEPT_QUERIES);

export type UpstreamTarget = { ok: true; origin: string; path: string } | { ok: false; message: string };

export const isPlaceholder = (segment: string) => segment === '*' || segment.startsWith(':');

/** Parses an upstream URL. @throws TypeError if it isn't an absolute URL. */
export function parseUpstream(upstreamUrl: string): Upstream {
  const { origin, pathname, search } = new URL(upstreamUrl);
  const query = search.slice(1);
  return { origin, segments: pathname.slice(1).split('/'), query, reserved: reservedNames(query) };
}

function reservedNames(query: string): Reserved {
  if (query === '') return NOTHING;
  const reserved = kept.get(query) ?? reservedIn(query);
  kept.set(query, reserved);
  return reserved;
}

function reservedIn(query: string): Reserved {
  const names = parameterNames(query);
  return { ...names, longest: longestOf(names) };
}

/**
 * Builds a request's target at the upstream.
 *
 * Placeholders in the upstream URL are replaced with the request's segments. If the URL has no placeholders, the
 * request's path is appended, starting where the pattern has its first placeholder. If only the `*` is missing,
 * whatever it matched is appended. The query is the URL's own followed by the caller's, both unchanged.
 *
 * @param pattern segments of the endpoint's path.
 * @param segments canonical segments of the request, which match the pattern. They are used unchanged, so the upstream
 *   gets exactly what was routed.
 * @param query the question mark and everything after it, or empty.
 * @returns a message for the caller if the query sets a parameter that the upstream URL also sets.
 */
export function upstreamTarget(
  upstream: Upstream,
  pattern: readonly string[],
  segments: readonly string[],
  query: string,
): UpstreamTarget {
  const problem = problemOf(upstream, query.slice(1));
  if (problem !== undefined) return { ok: false, message: problem };

  const path = upstream.segments.flatMap((segment, position) => {
    const index = isPlaceholder(segment) ? pattern.indexOf(segment) : -1;
    if (index < 0) return [segment];
    if (segment !== '*') return [segments[index]!];
    const rest = segments.slice(index);
    // The request's trailing slash matters only at the end of the upstream's path.
    return position === upstream.segments.length - 1 ? rest : rest.filter((part) => part !== '');
  });
  const appendedFrom = appendFrom(upstream, pattern);
  if (appendedFrom >= 0) {
    if (path.at(-1) === '') path.pop();
    path.push(...segments.slice(appendedFrom));
  }
  const queries = [upstream.query, query.slice(1)].filter(Boolean);
  return {
    ok: true,
    origin: upstream.origin,
    path: `/${path.join('/')}${queries.length > 0 ? `?${queries.join('&')}` : ''}`,
  };
}

/**
 * A query without the parameters that the upstream URL sets. Neither includes the question mark. Undefined if comparing
 * them would take too long.
 */
export function withoutReserved({ reserved }: Upstream, query: string): string | undefined {
  if (reserved.names.size === 0) return query;
  if (splitPairs(query).length > MAX_NAMES) return undefined;
  const comparison = compareWith(reserved);
  const pairs = query.split('&').filter((pair) => !comparison.setsReserved(pair));
  return comparison.isTooLong() ? undefined : pairs.join('&');
}

/** Says why a query can't be combined with the upstream URL's. Without limits, long queries would take 70 ms to check. */
function problemOf({ reserved }: Upstream, query: string): string | undefined {
  if (reserved.names.size === 0) return undefined;
  const names = distinctNames(query);
  if (names.size > MAX_NAMES) return `The query has more than ${MAX_NAMES} different parameters.`;
  const comparison = compareWith(reserved);
  const repeated = [...names].find(comparison.setsReserved);
  if (comparison.isTooLong()) return 'The query has too many nested parameters.';
  return repeated === undefined ? undefined : `The query parameter "${readableName(repeated)}" is set by the seller.`;
}

/** Compares parts of a query with the seller's names, until the limit for parents is reached. */
function compareWith(reserved: Reserved) {
  let parents = 0;
  const isTooLong = () => parents > MAX_PARENTS;
  return {
    setsReserved(part: string): boolean {
      if (isTooLong()) return false;
      const own = parameterNames(part, reserved.longest);
      parents += own.parents.size;
      return overlap(own, reserved);
    },
    isTooLong,
  };
}

/** The index of the first request segment that is appended to the upstream's path, or -1 if nothing is appended. */
function appendFrom({ segments }: Upstream, pattern: readonly string[]): number {
  const isNamed = pattern.some((segment) => isPlaceholder(segment) && segments.includes(segment));
  if (!isNamed) return pattern.findIndex(isPlaceholder);
  return segments.includes('*') ? -1 : pattern.indexOf('*');
}
