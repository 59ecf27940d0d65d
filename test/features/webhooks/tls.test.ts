import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import type { AppError } from '../../../src/errors.ts';
import { changeTls } from '../../../src/features/webhooks/tls.ts';
import { CLIENT_CERTIFICATE } from '../../egress/authority.ts';

test("a client's RSA key can't have more than 4,096 bits, because every connection would hold up the service", () => {
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 4104,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const given = { clientCertificate: { certificate: CLIENT_CERTIFICATE, privateKey } };
  let thrown: unknown;
  try {
    changeTls({}, given, false, new Date());
  } catch (error) {
    thrown = error;
  }
  expect((thrown as AppError).fields).toEqual([
    {
      pointer: '/clientCertificate/privateKey',
      message: 'Must have at most 4,096 bits, because every connection uses it. An elliptic-curve key is faster.',
    },
  ]);
});
