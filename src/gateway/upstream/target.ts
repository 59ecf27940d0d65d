/** Where an endpoint's requests go: its upstream URL in the parts that requests are put together from. */
export type Upstream = {
  origin: string;
  /** Segments of the path; `:name` and a last `*` stand for what the request's path has there. */
  segments: string[];
  /** What the URL's own query says, without the question mark. */
  query: string;
  /** Names in that query: the seller's, which a caller must not set a second time. */
  reservedNames: ReadonlySet<string>;
  /** Those, and what they are parts of: `filter` of `filter[city]`. */
  reservedParents: ReadonlySet<string>;
};

export type UpstreamTarget = { ok: true; origin: string; path: string } | { ok: false; message: string };

const isPlaceholder = (segment: string) => segment === '*' || segment.startsWith(':');

/** Takes an upstream URL apart. @throws TypeError when it is no absolute URL. */
export function parseUpstream(upstreamUrl: string): Upstream {
  const { origin, pathname, search } = new URL(upstreamUrl);
  const query = search.slice(1);
  const reservedNames = namesIn(query);
  const reservedParents = new Set([...reservedNames].flatMap(withParents));
  return { origin, segments: pathname.slice(1).split('/'), query, reservedNames, reservedParents };
}

/**
 * The target of a request at the upstream.
 *
 * Placeholders that the upstream URL names are replaced by the segments of the request. If it names none, what the path
 * has from its first placeholder on is appended; if only its `*` is not named, that rest is. The query is the URL's own
 * followed by the caller's, as they were written.
 *
 * @param pattern segments of the endpoint's path.
 * @param segments canonical segments of the request, which match it. They go into the target as they are: what was
 *   routed is what is asked for.
 * @param query from the question mark on, or empty.
 * @returns a sentence for the caller when the query sets a name that the upstream URL sets.
 */
export function upstreamTarget(
  upstream: Upstream,
  pattern: readonly string[],
  segments: readonly string[],
  query: string,
): UpstreamTarget {
  const { reservedNames, reservedParents } = upstream;
  const repeated = [...namesIn(query.slice(1))].find(
    (name) => reservedParents.has(name) || withParents(name).some((part) => reservedNames.has(part)),
  );
  if (repeated !== undefined) return { ok: false, message: `The query parameter "${repeated}" is set by the seller.` };

  const path = upstream.segments.flatMap((segment, position) => {
    const index = isPlaceholder(segment) ? pattern.indexOf(segment) : -1;
    if (index < 0) return [segment];
    if (segment !== '*') return [segments[index]!];
    const rest = segments.slice(index);
    // A slash at the end of the request's path is one only where the upstream's ends.
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

/** From which of its segments on a request's path is appended to the upstream's; -1 when nothing is. */
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

/** PHP ends a name at a null byte, drops spaces in front and takes others, and dots, for underscores. */
function leniently(name: string): string {
  return name.split('\0', 1)[0]!.trimStart().replace(/[ .]/g, '_').toLowerCase();
}

/** Where brackets make lists of parameters, `key[a]` sets a part of `key`; `key[a]` and `key[b]` are two. */
function withParents(name: string): string[] {
  return [...[...name.matchAll(/\[/g)].map(({ index }) => name.slice(0, index)), name];
}
