import { isUrl, SHORTEST_HIDDEN_PART } from '../../secrets/mask-url.ts';
import { createScrubber, scrub } from '../../secrets/redact.ts';

/** How much of a response is read. */
export const MAX_RESPONSE_BYTES = 65_536;

// The scrubber looks for at least this many characters of a secret that isn't a URL.
const SHORTEST_TRACE = 16;
const MAX_STORED_BYTES = 16_384;
const MAX_MESSAGE_LENGTH = 500;

/**
 * A response body as it is stored: valid UTF-8 without NUL characters (PostgreSQL can't store them), with secrets
 * masked, and cut to 16 KB. Null if it is empty.
 */
export function storedBody(body: Buffer, secrets: readonly string[]): string | null {
  if (body.length === 0) return null;
  const plain = body.toString('utf8').replaceAll('\0', '');
  const text = isTooShortFor(secrets, plain) ? plain : scrubberOf(secrets)(plain);
  if (Buffer.byteLength(text) <= MAX_STORED_BYTES) return text;
  // A character that the cut would split is left out.
  return new TextDecoder().decode(Buffer.from(text).subarray(0, MAX_STORED_BYTES), { stream: true });
}

const scrubbers = new WeakMap<readonly string[], (text: string) => string>();

/** Cached per list object, because creating a scrubber costs more than using it. */
export function scrubberOf(secrets: readonly string[]): (text: string) => string {
  const known = scrubbers.get(secrets);
  if (known) return known;
  const scrubber = createScrubber(secrets);
  scrubbers.set(secrets, scrubber);
  return scrubber;
}

/** An error message as it is stored: without NUL characters, with secrets masked, and cut to 500 characters. */
export function storedMessage(message: string, secrets: readonly string[]): string {
  return scrub(message.replaceAll('\0', ''), secrets).slice(0, MAX_MESSAGE_LENGTH).toWellFormed();
}

/** Most responses are too short to contain a secret. The search for every form of every secret is skipped for them. */
function isTooShortFor(secrets: readonly string[], text: string): boolean {
  const shortest = secrets.some(isUrl) ? SHORTEST_HIDDEN_PART : SHORTEST_TRACE;
  return text.length < Math.min(shortest, ...secrets.map(({ length }) => length));
}
