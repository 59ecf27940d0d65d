const MAX_BYTES = 2048;
/** The gateway keeps every segment in memory, at a few hundred bytes each. */
const MAX_SEGMENTS = 32;
const UNRESERVED = /[A-Za-z0-9\-._~]/;
const PARAMETER = /^:[A-Za-z_][A-Za-z0-9_]*$/;
// RFC 3986 §3.3: unreserved, percent-encoded, sub-delims, ":", and "@".
const SEGMENT = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-F]{2})+$/;
const FORBIDDEN_ESCAPES = /%(?:2F|5C|[01][0-9A-F]|7F|C2%[89][0-9A-F])/;
// Half an escape could become a whole one when the escape inside it is decoded: "%2%45" would become "%2E".
const HALF_ESCAPE = /%(?![0-9A-Fa-f]{2})/;
const HALF_ESCAPE_MESSAGE = '"%" must be followed by two hexadecimal digits.';
// An escaped percent sign before two hex digits. Decoding it a second time would change its meaning.
const DOUBLE_ESCAPE = /%25[0-9A-Fa-f]{2}/;
// Dot segments, even with a path parameter, because some servers strip the parameter before they resolve the dots.
const DOT_SEGMENT = /^\.{1,2}(?:$|;|%3B)/;

/** The limits of a path that JSON Schema can express. */
export const PATH_LIMITS = { maxLength: MAX_BYTES, pattern: '^/' };

export type CanonicalPath = { ok: true; path: string } | { ok: false; message: string };

/**
 * Normalizes an endpoint's path to the form that is stored, routed, and forwarded: a leading slash, no empty or dot
 * segments (encoded or not), and escapes only where they are needed, in uppercase (RFC 3986 §6.2.2). A segment `:name`
 * matches any one segment; a trailing `*` matches the rest.
 */
export function canonicalPath(text: string): CanonicalPath {
  if (Buffer.byteLength(text) > MAX_BYTES) return refuse(`Must be at most ${MAX_BYTES} bytes.`);
  if (!text.startsWith('/')) return refuse('Must start with a slash, for example, "/weather".');
  if (/[?#]/.test(text)) return refuse('Must be a path without a query or a fragment.');
  if (/[\s\p{Cc}\\]/u.test(text)) return refuse('Must not contain spaces, control characters, or backslashes.');
  if (HALF_ESCAPE.test(text)) return refuse(HALF_ESCAPE_MESSAGE);
  if (/\{[^/]*\}/.test(text)) return refuse('Write parameters with a colon, for example, "/users/:id".');
  if (text === '/') return { ok: true, path: text };
  const segments = text.slice(1).split('/').map(normalizeEscapes);
  if (segments.length > MAX_SEGMENTS) return refuse(`Must have at most ${MAX_SEGMENTS} segments.`);
  for (const [index, segment] of segments.entries()) {
    const problem = problemOf(segment);
    if (problem) return refuse(problem);
    if (segment === '*' && index < segments.length - 1) return refuse('"*" is allowed only as the last segment.');
    if (segment.startsWith(':') && !PARAMETER.test(segment))
      return refuse('A parameter must be ":" followed by a name, for example, "/users/:id".');
  }
  const names = segments.filter((segment) => segment.startsWith(':'));
  if (new Set(names).size < names.length) return refuse('Each parameter name must be unique.');
  return { ok: true, path: `/${segments.join('/')}` };
}

/** A requested path's segments in canonical form, or what is wrong with the first invalid one. */
export function canonicalSegments(
  segments: readonly string[],
): { ok: true; segments: string[] } | { ok: false; message: string } {
  if (segments.some((segment) => HALF_ESCAPE.test(segment))) return { ok: false, message: HALF_ESCAPE_MESSAGE };
  const canonical = segments.map(normalizeEscapes);
  const problem = canonical.map(problemOf).find((message) => message !== undefined);
  return problem === undefined ? { ok: true, segments: canonical } : { ok: false, message: problem };
}

/** Why different servers could read a normalized segment differently, or undefined if they can't. */
function problemOf(segment: string): string | undefined {
  if (segment === '') return 'Must not contain empty segments ("//", or a slash at the end).';
  if (DOT_SEGMENT.test(segment)) return 'Must not contain "." or ".." segments.';
  if (!SEGMENT.test(segment)) return 'Characters that RFC 3986 does not allow must be percent-encoded.';
  if (FORBIDDEN_ESCAPES.test(segment)) return 'Must not contain encoded slashes, backslashes, or control bytes.';
  if (DOUBLE_ESCAPE.test(segment)) return 'Must not be percent-encoded twice.';
  if (!isUtf8(segment)) return 'Percent-encoded bytes must be UTF-8.';
  return undefined;
}

/** Whether the escapes are valid UTF-8. A careless decoder reads the overlong form `%C0%AE` as a dot. */
function isUtf8(segment: string): boolean {
  try {
    decodeURIComponent(segment);
    return true;
  } catch {
    return false;
  }
}

function normalizeEscapes(segment: string): string {
  return segment.replace(/%[0-9A-Fa-f]{2}/g, (encoded) => {
    const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
    return UNRESERVED.test(character) ? character : encoded.toUpperCase();
  });
}

function refuse(message: string): CanonicalPath {
  return { ok: false, message };
}

/** What buyers can append to the upstream URL: the part of the path that starts with its first placeholder. */
export function openPart(path: string): string {
  return /\/(?::|\*$).*/.exec(path)?.[0] ?? '';
}
