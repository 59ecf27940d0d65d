const MAX_BYTES = 2048;
const UNRESERVED = /[A-Za-z0-9\-._~]/;
const PARAMETER = /^:[A-Za-z_][A-Za-z0-9_]*$/;
// RFC 3986 §3.3: unreserved, percent-encoded, sub-delims, ":" and "@".
const SEGMENT = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-F]{2})+$/;
const FORBIDDEN_ESCAPES = /%(?:2F|5C|[01][0-9A-F]|7F)/;
// Servers differ in what `..;x` is to them (RFC 3986 §3.3 lets a segment have parameters).
const DOT_SEGMENT = /^\.{1,2}(?:;.*)?$/;
// Decoded once more than it should be, it would be another path.
const ENCODED_TWICE = /%25[0-9A-Fa-f]{2}/;

export type CanonicalPath = { ok: true; path: string } | { ok: false; message: string };

/**
 * Brings the path of an endpoint into the one form in which it is stored, routed and forwarded: a leading slash, no
 * empty or dot segments (encoded or not), escapes in upper case and only where they are needed (RFC 3986 §6.2.2).
 * A segment `:name` stands for any one segment, a last segment `*` for any rest.
 */
export function canonicalPath(text: string): CanonicalPath {
  if (Buffer.byteLength(text) > MAX_BYTES) return refuse(`Must have at most ${MAX_BYTES} bytes.`);
  if (!text.startsWith('/')) return refuse('Must start with a slash, for example "/weather".');
  if (/[?#]/.test(text)) return refuse('Must be a path alone, without a query or a fragment.');
  if (/[\s\p{Cc}\\]/u.test(text)) return refuse('Must not contain spaces, control characters or backslashes.');
  // Half an escape could become a whole one when what stands in it is resolved: "%2%45" would be "%2E".
  if (/%(?![0-9A-Fa-f]{2})/.test(text)) return refuse('"%" must be followed by two hexadecimal digits.');
  if (text === '/') return { ok: true, path: text };
  const segments = text.slice(1).split('/').map(normaliseEscapes);
  for (const [index, segment] of segments.entries()) {
    if (segment === '') return refuse('Must not contain empty segments ("//", or a slash at the end).');
    if (DOT_SEGMENT.test(segment)) return refuse('Must not contain "." or ".." segments.');
    if (!SEGMENT.test(segment)) return refuse('Characters outside RFC 3986 must be percent-encoded.');
    if (FORBIDDEN_ESCAPES.test(segment))
      return refuse('Must not contain encoded slashes, backslashes or control bytes.');
    if (ENCODED_TWICE.test(segment)) return refuse('Must not be percent-encoded twice.');
    if (!isUtf8(segment)) return refuse('Percent-encoded bytes must be UTF-8.');
    if (segment === '*' && index < segments.length - 1) return refuse('"*" may only stand as the last segment.');
    if (segment.startsWith(':') && !PARAMETER.test(segment))
      return refuse('A parameter is ":" and a name, for example "/users/:id".');
  }
  const names = segments.filter((segment) => segment.startsWith(':'));
  if (new Set(names).size < names.length) return refuse('Each parameter may stand only once.');
  return { ok: true, path: `/${segments.join('/')}` };
}

function isUtf8(segment: string): boolean {
  try {
    decodeURIComponent(segment);
    return true;
  } catch {
    return false;
  }
}

function normaliseEscapes(segment: string): string {
  return segment.replace(/%[0-9A-Fa-f]{2}/g, (encoded) => {
    const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
    return UNRESERVED.test(character) ? character : encoded.toUpperCase();
  });
}

function refuse(message: string): CanonicalPath {
  return { ok: false, message };
}
