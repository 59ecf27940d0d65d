import type { KeyObject } from 'node:crypto';

/**
 * Certificate authorities and vendors don't use larger RSA keys. A signature with the largest key that OpenSSL reads
 * takes about a second, and during a TLS handshake, that would hold up the whole process.
 */
export const MAX_RSA_BITS = 4_096;

/** Whether signatures with this key would take too long. */
export function isTooLarge({ asymmetricKeyDetails }: KeyObject): boolean {
  return (asymmetricKeyDetails?.modulusLength ?? 0) > MAX_RSA_BITS;
}
