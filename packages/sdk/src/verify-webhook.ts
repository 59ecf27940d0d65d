import type { WebhookEvent } from './generated.ts';

export type WebhookToVerify = {
  /** The raw body. JSON that was parsed and serialized again has different bytes. */
  payload: string | Uint8Array | ArrayBuffer;
  /** The request's headers: `Headers`, or an object with lowercase names as in Node. */
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** How far a request's timestamp may be in the past or the future. Default: 300. */
  toleranceSeconds?: number;
} & ({ secret: string } | { secrets: readonly string[] });

/** Thrown if a request isn't from Tollgate, or is too old. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
}

const DEFAULT_TOLERANCE_SECONDS = 300;

/**
 * Returns the event in a webhook request (https://www.standardwebhooks.com, v1). Pass `secrets` if you have several
 * secrets, such as during a rotation. One match is enough.
 *
 * @throws WebhookVerificationError unless the request was signed with one of the secrets and is recent.
 */
export async function verifyWebhook(webhook: WebhookToVerify): Promise<WebhookEvent> {
  const { payload, headers, toleranceSeconds = DEFAULT_TOLERANCE_SECONDS } = webhook;
  const id = header(headers, 'webhook-id');
  // The signed parts are joined with dots. With a dot in the ID, other parts would have the same signature.
  if (id.includes('.')) throw new WebhookVerificationError('The ID contains a dot.');
  const timestamp = header(headers, 'webhook-timestamp');
  const ageSeconds = Math.abs(Date.now() / 1000 - (/^\d+$/.test(timestamp) ? Number(timestamp) : Number.NaN));
  if (!(ageSeconds <= toleranceSeconds)) {
    throw new WebhookVerificationError('The timestamp is too old or in the future.');
  }

  const body = bytesOf(payload);
  const content = joined(new TextEncoder().encode(`${id}.${timestamp}.`), body);
  const signatures = header(headers, 'webhook-signature').split(' ').flatMap(signatureBytes);
  const secrets = 'secrets' in webhook ? webhook.secrets : [webhook.secret];
  for (const secret of secrets) {
    // Once, because anyone can send thousands of signatures.
    const expected = new Uint8Array(await crypto.subtle.sign('HMAC', await importKey(secret), content));
    if (signatures.some((signature) => isEqual(signature, expected))) return JSON.parse(new TextDecoder().decode(body));
  }
  throw new WebhookVerificationError('The webhook is not signed with this secret.');
}

function importKey(secret: string): Promise<CryptoKey> {
  const bytes = base64Bytes(secret.replace(/^whsec_/, ''));
  if (!bytes || bytes.length === 0) throw new TypeError('The secret must be `whsec_` followed by base64.');
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
}

/** Takes the same time no matter where the bytes differ. */
function isEqual(given: Uint8Array, expected: Uint8Array): boolean {
  const differences = expected.reduce((sum, byte, index) => sum | (byte ^ (given[index] ?? 0)), 0);
  return given.length === expected.length && differences === 0;
}

/** The bytes of a `v1` signature. Signatures with other versions are ignored. */
function signatureBytes(signature: string): Uint8Array<ArrayBuffer>[] {
  const bytes = signature.startsWith('v1,') ? base64Bytes(signature.slice(3)) : undefined;
  return bytes ? [bytes] : [];
}

function base64Bytes(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function header(headers: WebhookToVerify['headers'], name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  return typeof value === 'string' ? value : '';
}

function bytesOf(payload: WebhookToVerify['payload']): Uint8Array {
  if (typeof payload === 'string') return new TextEncoder().encode(payload);
  return payload instanceof Uint8Array ? payload : new Uint8Array(payload);
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(first.length + second.length);
  bytes.set(first);
  bytes.set(second, first.length);
  return bytes;
}
