import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { expect, test } from 'vitest';
import type { AppError } from '../../../src/errors.ts';
import { changeTls } from '../../../src/features/webhooks/tls.ts';
import { CLIENT_CERTIFICATE } from '../../egress/authority.ts';

/** What is wrong with a client certificate that has this key. */
function problemWith(key: KeyObject): string | undefined {
  const privateKey = key.export({ type: 'pkcs8', format: 'pem' }).toString();
  try {
    changeTls({}, { clientCertificate: { certificate: CLIENT_CERTIFICATE, privateKey } }, false, new Date());
  } catch (error) {
    return (error as AppError).fields!.map(({ pointer, message }) => `${pointer}: ${message}`).join();
  }
}

test("a client's RSA key can't have more than 4,096 bits, because every connection would hold up the service", () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 4104 });
  expect(problemWith(privateKey)).toBe(
    '/clientCertificate/privateKey: An RSA key can have at most 4,096 bits, and a public exponent of at most 64 bits.',
  );
});

test("a client's key must be of a kind that TLS servers accept, because other kinds can be slow to sign with", () => {
  expect(problemWith(generateKeyPairSync('ed25519').privateKey)).toMatch(/belongs to another certificate/);
  expect(problemWith(generateKeyPairSync('x25519').privateKey)).toBe(
    '/clientCertificate/privateKey: Must be an RSA, ECDSA, or EdDSA key.',
  );
});
