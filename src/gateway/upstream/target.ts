/** An endpoint's upstream URL, split into the parts that request targets are built from. */
export type Upstream = {
  origin: string;
  /** Path segments. `:name` and a trailing `*` are replaced with parts of the request's path. */
  segments: string[];
  /** The URL's own query, without the question mark. */
  query: string;
  /** Parameter names in that query. They belong to the seller, so callers can't override them. */
  reservedNames: ReadonlySet<string>;
  /** Those names and their parents, such as `filter` for `filter[city]`. */
  reservedParents: ReadonlySet<string>;
};

export type UpstreamTarget = { ok: true; origin: string; path: string } | { ok: false; message: string };

export const isPlaceholder = (segment: string) => segment === '*' || segment.startsWith(':');

/** Parses an upstream URL. @throws TypeError if it isn't an absolute URL. */
export function parseUpstream(upstreamUrl: string): Upstream {
  const { origin, pathname, search } = new URL(upstreamUrl);
  const query = search.slice(1);
  const reservedNames = namesIn(query);
  const reservedParents = new Set([...reservedNames].flatMap(withParents));
  return { origin, segments: pathname.slice(1).split('/'), query, reservedNames, reservedParents };
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
  const repeated = [...namesIn(query.slice(1))].find((name) => isReserved(upstream, name));
  if (repeated !== undefined) return { ok: false, message: `The query parameter "${repeated}" is set by the seller.` };

  const path = upstream.segments.flatMap((segment, position) => {
    const index = isPlaceholder(segment) ? pattern.indexOf(segment) : -1;
    if (index < 0) return [segment];
    if (segment !== '*') return [segments[index]!];
    const rest = segments.slice(index);
    // The request's trailing slash only matters at the end of the upstream's path.
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

/** A query without the parameters that the upstream URL sets. Neither includes the question mark. */
export function withoutReserved(upstream: Upstream, query: string): string {
  const pairs = query.split('&').filter((pair) => ![...namesIn(pair)].some((name) => isReserved(upstream, name)));
  return pairs.join('&');
}

function isReserved({ reservedNames, reservedParents }: Upstream, name: string): boolean {
  return reservedParents.has(name) || withParents(name).some((part) => reservedNames.has(part));
}

/** The index of the first request segment that is appended to the upstream's path, or -1 if nothing is appended. */
function appendFrom({ segments }: Upstream, pattern: readonly string[]): number {
  const isNamed = pattern.some((segment) => isPlaceholder(segment) && segments.includes(segment));
  if (!isNamed) return pattern.findIndex(isPlaceholder);
  return segments.includes('*') ? -1 : pattern.indexOf('*');
}

/** Parameter names as a lenient server would read them. */
function namesIn(query: string): Set<string> {
  const names = query.split(/[&;]/).map((pair) => pair.split('=', 1)[0]!);
  return new Set(names.filter(Boolean).map(decoded));
}

function decoded(name: string): string {
  try {
    return leniently(decodeURIComponent(name.replaceAll('+', ' ')));
  } catch {
    return leniently(name);
  }
}

/** PHP ends names at a null byte, drops leading spaces, and turns other spaces and dots into underscores. */
function leniently(name: string): string {
  return name.split('\0', 1)[0]!.trimStart().replace(/[ .]/g, '_').toLowerCase();
}

/**
 * Where brackets create nested parameters, `key[a]` sets part of `key`, while `key[a]` and `key[b]` are independent.
 */
function withParents(name: string): string[] {
  return [...[...name.matchAll(/\[/g)].map(({ index }) => name.slice(0, index)), name];
}
