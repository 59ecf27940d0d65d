import type { KeyObject } from 'node:crypto';

/**
 * Certificate authorities and vendors don't use larger RSA keys. A signature with the largest keys and exponents that
 * OpenSSL reads takes about a second, and during a TLS handshake, that would hold up the whole process.
 */
const MAX_RSA_BITS = 4_096;
const MAX_EXPONENT_BITS = 64n;

export const LARGEST_RSA_KEY = `at most ${MAX_RSA_BITS.toLocaleString('en-US')} bits, and a public exponent of at most ${MAX_EXPONENT_BITS} bits`;

/** Whether signatures with this key would take too long. */
export function isTooLarge({ asymmetricKeyDetails: { modulusLength = 0, publicExponent = 0n } = {} }: KeyObject) {
  return modulusLength > MAX_RSA_BITS || publicExponent >= 1n << MAX_EXPONENT_BITS;
}
