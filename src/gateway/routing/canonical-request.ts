import { canonicalSegments } from '../../features/endpoints/path.ts';

const MAX_TARGET_BYTES = 8_192;
const TOO_LONG = `Must be at most ${MAX_TARGET_BYTES} bytes.`;
// The WHATWG URL parser, and therefore every fetch, leaves these unescaped in paths, but RFC 3986 requires escaping.
const LEFT_BY_URL_PARSERS = /[[\]|^]/g;
// These are what the WHATWG URL parser escapes in queries. Frameworks that use it see only the escaped form, so that form
// must be signed and forwarded (https://url.spec.whatwg.org/#special-query-percent-encode-set).
const ESCAPED_BY_URL_PARSERS = /["'<>]/g;

/** A request target in the only spelling that is routed, fingerprinted, and forwarded. */
type CanonicalRequest = {
  /** Canonical segments. The last one is empty if the path ends in a slash. */
  segments: string[];
  /** The segments joined, with the leading slash. */
  path: string;
  /** The question mark and everything after it, as a URL parser would write it. Empty if there is no query. */
  query: string;
};

export type CanonicalResult = ({ ok: true } & CanonicalRequest) | { ok: false; message: string };

/**
 * Reads a request target (RFC 9112 §3.2.1, origin form) by the same rules as stored endpoint paths, and rejects
 * anything that two parsers could read differently: encoded slashes, double encoding, backslashes, empty and dot
 * segments, control bytes, and malformed escapes.
 *
 * @param target the bytes as they arrived, without the prefix that contains the project.
 * @returns a message for the caller if the target is rejected.
 */
export function canonicalRequest(target: string): CanonicalResult {
  if (Buffer.byteLength(target) > MAX_TARGET_BYTES) return refuse(TOO_LONG);
  if (!target.startsWith('/')) return refuse('Must start with a slash.');
  if (/[^\x21-\x7e]/.test(target)) return refuse('Must be printable ASCII. Percent-encode all other characters.');
  if (target.includes('#')) return refuse("Can't contain a fragment.");
  const queryAt = target.indexOf('?');
  const path = queryAt < 0 ? target : target.slice(0, queryAt);
  const query = queryAt < 0 ? '' : target.slice(queryAt).replace(ESCAPED_BY_URL_PARSERS, escaped);
  if (path.includes('\\')) return refuse("Can't contain backslashes.");

  const written = path.slice(1).replace(LEFT_BY_URL_PARSERS, encodeURIComponent).split('/');
  // A path with a trailing slash is a different path (RFC 3986 §6.2.3), so the slash is kept.
  const trailing = written.at(-1) === '' ? [''] : [];
  const result = canonicalSegments(trailing.length > 0 ? written.slice(0, -1) : written);
  if (!result.ok) return result;
  const segments = [...result.segments, ...trailing];
  const canonical = `/${segments.join('/')}`;
  // Escaping can make it three times as long, and many servers accept only 8 KB.
  if (canonical.length + query.length > MAX_TARGET_BYTES) return refuse(TOO_LONG);
  return { ok: true, segments, path: canonical, query };
}

/** `encodeURIComponent` leaves the apostrophe. */
function escaped(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

function refuse(message: string): CanonicalResult {
  return { ok: false, message };
}
