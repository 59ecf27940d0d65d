import type { EgressResponse } from '../../egress/egress.ts';
import { scrub, scrubberOf } from '../../secrets/redact.ts';

/** How much of a response is read. */
export const MAX_RESPONSE_BYTES = 65_536;

const MAX_STORED_BYTES = 16_384;
const MAX_MESSAGE_LENGTH = 500;

/**
 * A response body as it is stored: valid UTF-8 without NUL characters (PostgreSQL can't store them), with secrets
 * masked, and cut to 16 KB. Null if it is empty. If the rest of the body wasn't read, it may end within a secret.
 */
export function storedBody(
  { body, bodyTruncated }: Pick<EgressResponse, 'body' | 'bodyTruncated'>,
  secrets: readonly string[],
  accountId: string,
): string | null {
  if (body.length === 0) return null;
  // A character that was cut off would hide the beginning of a secret before it.
  const read = new TextDecoder('utf-8', { ignoreBOM: true }).decode(body, { stream: bodyTruncated });
  const text = scrubberOf(secrets, accountId)(read.replaceAll('\0', ''), bodyTruncated);
  if (Buffer.byteLength(text) <= MAX_STORED_BYTES) return text;
  // A character that the cut would split is left out.
  return new TextDecoder().decode(Buffer.from(text).subarray(0, MAX_STORED_BYTES), { stream: true });
}

/** An error message as it is stored: without NUL characters, with secrets masked, and cut to 500 characters. */
export function storedMessage(message: string, secrets: readonly string[]): string {
  return scrub(message.replaceAll('\0', ''), secrets).slice(0, MAX_MESSAGE_LENGTH).toWellFormed();
}
