import { canonicalSegments } from '../../features/endpoints/path.ts';

const MAX_TARGET_BYTES = 8_192;
// The WHATWG URL parser, and so every fetch, leaves these in paths although RFC 3986 has them escaped.
const LEFT_BY_URL_PARSERS = /[[\]|^]/g;

/** What is asked for, in the one spelling that is routed, fingerprinted and forwarded. */
export type CanonicalRequest = {
  /** Canonical segments, the last one empty when the path ends in a slash. */
  segments: string[];
  /** The segments joined, with the leading slash. */
  path: string;
  /** From the question mark on, as it arrived; empty without one. */
  query: string;
};

export type CanonicalResult = ({ ok: true } & CanonicalRequest) | { ok: false; message: string };

/**
 * Reads the target of a request (RFC 9112 §3.2.1, origin form) by the same rules by which endpoint paths are stored, and
 * refuses whatever two readers could understand differently: encoded slashes, double encoding, backslashes, empty and
 * dot segments, control bytes, malformed escapes.
 *
 * @param target the bytes as they arrived, behind the prefix that names the project.
 * @returns a sentence for the caller when it is refused.
 */
export function canonicalRequest(target: string): CanonicalResult {
  if (Buffer.byteLength(target) > MAX_TARGET_BYTES) return refuse(`Must have at most ${MAX_TARGET_BYTES} bytes.`);
  if (!target.startsWith('/')) return refuse('Must start with a slash.');
  if (/[^\x21-\x7e]/.test(target)) return refuse('Must be printable ASCII; everything else is percent-encoded.');
  if (target.includes('#')) return refuse('Must not contain a fragment.');
  const queryAt = target.indexOf('?');
  const path = queryAt < 0 ? target : target.slice(0, queryAt);
  const query = queryAt < 0 ? '' : target.slice(queryAt);
  if (path.includes('\\')) return refuse('Must not contain backslashes.');

  const written = path.slice(1).replace(LEFT_BY_URL_PARSERS, encodeURIComponent).split('/');
  // One slash at the end is a path of its own (RFC 3986 §6.2.3), which only `*` endpoints have.
  const trailing = written.at(-1) === '' ? [''] : [];
  const result = canonicalSegments(trailing.length > 0 ? written.slice(0, -1) : written);
  if (!result.ok) return result;
  const segments = [...result.segments, ...trailing];
  return { ok: true, segments, path: `/${segments.join('/')}`, query };
}

function refuse(message: string): CanonicalResult {
  return { ok: false, message };
}
