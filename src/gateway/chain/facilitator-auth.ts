import { createPrivateKey, type KeyObject, randomBytes } from 'node:crypto';
import { SignJWT } from 'jose';

/** The headers that authenticate one request to the facilitator. */
export type FacilitatorAuth = (method: 'GET' | 'POST', url: string) => Promise<Record<string, string>>;

/** How the gateway authenticates to the facilitator: not at all, with a fixed token, or with a token per request. */
export type FacilitatorCredential =
  | { kind: 'none' }
  | { kind: 'token'; token: string }
  | { kind: 'key'; keyId: string; key: KeyObject };

const TOKEN_LIFETIME_SECONDS = 120;
const SEED_BYTES = 32;
// The DER prefix of an Ed25519 seed (RFC 8410 §7).
const ED25519_PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

export function createFacilitatorAuth(credential: FacilitatorCredential): FacilitatorAuth {
  if (credential.kind === 'none') return async () => ({});
  if (credential.kind === 'token') return async () => ({ authorization: `Bearer ${credential.token}` });
  const { keyId, key } = credential;
  return async (method, url) => ({ authorization: `Bearer ${await signedToken(keyId, key, method, url)}` });
}

/**
 * Reads a Coinbase Developer Platform secret: an Ed25519 key as base64 of 64 bytes (seed and public key), or an EC or
 * PKCS #8 key in PEM, with line breaks optionally written as `\n`.
 *
 * @throws Error that doesn't contain any part of the secret.
 */
export function parseKeySecret(secret: string): KeyObject {
  const text = secret.trim().replaceAll('\\n', '\n');
  try {
    if (text.startsWith('-----BEGIN')) return createPrivateKey(text);
    const bytes = Buffer.from(text, 'base64');
    if (bytes.length !== SEED_BYTES && bytes.length !== 2 * SEED_BYTES) throw new Error();
    const der = Buffer.concat([ED25519_PKCS8_PREFIX, bytes.subarray(0, SEED_BYTES)]);
    return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  } catch {
    throw new Error('must be an Ed25519 key in base64, or an EC key in PEM');
  }
}

/** A token for one method and path (https://docs.cdp.coinbase.com/get-started/authentication/jwt-authentication). */
async function signedToken(keyId: string, key: KeyObject, method: string, url: string): Promise<string> {
  const { host, pathname } = new URL(url);
  const alg = key.asymmetricKeyType === 'ed25519' ? 'EdDSA' : 'ES256';
  return new SignJWT({ uris: [`${method} ${host}${pathname}`] })
    .setProtectedHeader({ alg, kid: keyId, typ: 'JWT', nonce: randomBytes(16).toString('hex') })
    .setIssuer('cdp')
    .setSubject(keyId)
    .setIssuedAt()
    .setNotBefore('0s')
    .setExpirationTime(`${TOKEN_LIFETIME_SECONDS}s`)
    .sign(key);
}
