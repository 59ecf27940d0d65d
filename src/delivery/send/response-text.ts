import { isUrl, SHORTEST_HIDDEN_PART } from '../../secrets/mask-url.ts';
import { createScrubber, scrub } from '../../secrets/redact.ts';

/** How much of an answer is read. */
export const MAX_RESPONSE_BYTES = 65_536;

// Of a secret that is no URL, and has no fewer characters, at least so many are looked for.
const SHORTEST_TRACE = 16;
const MAX_STORED_BYTES = 16_384;
const MAX_MESSAGE_LENGTH = 500;

/**
 * An answer's body as it is kept: valid UTF-8 without NUL characters (PostgreSQL stores none), secrets masked, at most
 * 16 KB. Null when it is empty.
 */
export function storedBody(body: Buffer, secrets: readonly string[]): string | null {
  if (body.length === 0) return null;
  const plain = body.toString('utf8').replaceAll('\0', '');
  const text = isTooShortFor(secrets, plain) ? plain : scrubberOf(secrets)(plain);
  if (Buffer.byteLength(text) <= MAX_STORED_BYTES) return text;
  // A character that the cut falls into is left out.
  return new TextDecoder().decode(Buffer.from(text).subarray(0, MAX_STORED_BYTES), { stream: true });
}

const scrubbers = new WeakMap<readonly string[], (text: string) => string>();

/** Made once for secrets that are kept, as those of webhooks are: making it costs more than using it. */
export function scrubberOf(secrets: readonly string[]): (text: string) => string {
  const known = scrubbers.get(secrets);
  if (known) return known;
  const scrubber = createScrubber(secrets);
  scrubbers.set(secrets, scrubber);
  return scrubber;
}

/** A message about a failure as it is kept: secrets masked, without NUL characters, at most 500 characters. */
export function storedMessage(message: string, secrets: readonly string[]): string {
  return scrub(message.replaceAll('\0', ''), secrets).slice(0, MAX_MESSAGE_LENGTH).toWellFormed();
}

/** Most answers are: it spares them the search for every spelling of every secret. */
function isTooShortFor(secrets: readonly string[], text: string): boolean {
  const shortest = secrets.some(isUrl) ? SHORTEST_HIDDEN_PART : SHORTEST_TRACE;
  return text.length < Math.min(shortest, ...secrets.map(({ length }) => length));
}
