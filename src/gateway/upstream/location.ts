import { isPlaceholder, type Upstream, withoutReserved } from './target.ts';

/** The longest `Location` that is rewritten. */
const MAX_LOCATION_CHARACTERS = 8 * 1024;

/** A call to an upstream, and where buyers reach its endpoint. */
type LocatedCall = {
  route: { upstream: Upstream; pattern: readonly string[] };
  target: { origin: string; path: string };
  address: { host: string; base: string };
};

/**
 * The value of `Location` that buyers get. A URL on the upstream itself becomes the matching public URL, as
 * with Apache's `ProxyPassReverse`. It loses the parameters that the upstream URL sets, because they may be secret. A
 * URL on any other host stays as it is.
 *
 * @param location the upstream's value, which may be relative.
 * @returns undefined if there is no such public URL, if the value would reveal the upstream's host, or if it is
 *   too long.
 */
export function publicLocation(location: string, call: LocatedCall): string | undefined {
  if (location.length > MAX_LOCATION_CHARACTERS) return undefined;
  const { origin, path } = call.target;
  const url = URL.parse(location, origin + path);
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password) return undefined;
  const { host, hostname } = new URL(origin);
  const { base } = call.address;
  const isPublic = base !== url.origin && url.href.startsWith(`${base}/`);
  // Upstreams don't always know whether they are called over TLS, and many use the public host (`X-Forwarded-Host`).
  const isUpstream = url.host === host || url.host === call.address.host;
  const shown = isUpstream && !isPublic ? publicUrl(url, call) : url.href;
  const written = shown?.startsWith(base) ? shown.slice(base.length) : shown;
  return written?.toLowerCase().includes(hostname) ? undefined : shown;
}

/** The public URL for a URL of the upstream, if there is one. */
function publicUrl({ pathname, search, hash }: URL, { route, address }: LocatedCall): string | undefined {
  const path = publicPath(route, pathname);
  const query = path && withoutReserved(route.upstream, search.slice(1));
  return query === undefined ? undefined : `${address.base}${path}${query && `?${query}`}${hash}`;
}

/**
 * The public path for an upstream's path, or undefined if the upstream's path isn't under the endpoint's upstream URL.
 */
function publicPath({ upstream, pattern }: LocatedCall['route'], path: string): string | undefined {
  const bases = basesOf(upstream.segments, pattern);
  if (!bases) return undefined;
  const segments = path.slice(1).split('/');
  if (!bases.upstream.every((segment, index) => segment === segments[index])) return undefined;
  return `/${[...bases.pattern, ...segments.slice(bases.upstream.length)].join('/')}`;
}

/**
 * The segments of the upstream URL and of the endpoint's path that correspond to each other: everything before the
 * placeholders. Undefined if what follows isn't the same in both.
 */
function basesOf(segments: readonly string[], pattern: readonly string[]) {
  const [fixed, variable] = splitAtPlaceholder(pattern);
  const [upstreamFixed, upstreamVariable] = splitAtPlaceholder(segments);
  // A missing `*` is appended, and so are all placeholders if there are none.
  const isAppended = upstreamVariable.length === 0;
  const rest = upstreamVariable.includes('*') ? variable : variable.filter((segment) => segment !== '*');
  if (!isAppended && rest.join('/') !== upstreamVariable.join('/')) return undefined;
  return { upstream: withoutLastEmpty(upstreamFixed), pattern: withoutLastEmpty(fixed) };
}

function splitAtPlaceholder(segments: readonly string[]): [fixed: readonly string[], variable: readonly string[]] {
  const index = segments.findIndex(isPlaceholder);
  return index < 0 ? [segments, []] : [segments.slice(0, index), segments.slice(index)];
}

function withoutLastEmpty(segments: readonly string[]): readonly string[] {
  return segments.at(-1) === '' ? segments.slice(0, -1) : segments;
}
