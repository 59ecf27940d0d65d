import pino from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createTokenVerifier, type TokenVerifier } from '../../src/auth/jwt.ts';
import {
  goodClaims,
  type IdentityProvider,
  makeToken,
  newSigningKey,
  type SigningKey,
  startIdentityProvider,
} from './identity-provider.ts';

const log = pino({ level: 'silent' });
const START_SECONDS = 1_800_000_000;

let provider: IdentityProvider;
let keyA: SigningKey;
let keyB: SigningKey;
let seconds: number;
let verifier: TokenVerifier;
/** How many signatures have been checked since `beforeEach`. */
let checks: number;

const { verify: realVerify } = crypto.subtle;

beforeAll(async () => {
  provider = await startIdentityProvider();
  keyA = await newSigningKey();
  keyB = await newSigningKey();
});

beforeEach(async () => {
  seconds = START_SECONDS;
  provider.publish(keyA);
  verifier = createTokenVerifier({
    issuers: [provider.config],
    fetchJson: provider.fetchJson,
    log,
    now: () => seconds * 1000,
    refreshMilliseconds: 3_600_000,
  });
  await verifier.start();
  checks = 0;
  crypto.subtle.verify = (...args) => {
    checks++;
    return Reflect.apply(realVerify, crypto.subtle, args);
  };
});

afterAll(async () => {
  crypto.subtle.verify = realVerify;
  verifier.stop();
  await provider.close();
});

const token = (changes: Record<string, unknown> = {}, key = keyA) =>
  makeToken(key, { ...goodClaims(START_SECONDS), ...changes });

/** Makes the verifier fetch the keys again, because of a token with an unknown key. */
async function fetchKeysAgain(): Promise<void> {
  seconds += 6;
  const unknown = await newSigningKey();
  await expect(verifier.verify(token({}, unknown))).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
}

describe('a verified token', () => {
  test('has its signature checked once, no matter how often it is sent', async () => {
    const sent = token();
    const first = await verifier.verify(sent);
    for (let count = 0; count < 5; count++) expect(await verifier.verify(sent)).toEqual(first);
    expect(checks).toBe(1);
  });

  test('is still rejected once it has expired', async () => {
    const sent = token();
    await verifier.verify(sent);
    seconds = START_SECONDS + 300 + 29;
    await verifier.verify(sent);
    seconds += 1;
    await expect(verifier.verify(sent)).rejects.toThrow('The token has expired.');
  });

  test('is rejected once its issuer no longer publishes its key', async () => {
    const sent = token();
    await verifier.verify(sent);
    provider.publish(keyB);
    await fetchKeysAgain();
    await expect(verifier.verify(sent)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  test('is not checked again when its issuer publishes the same keys again', async () => {
    const sent = token();
    await verifier.verify(sent);
    await fetchKeysAgain();
    await verifier.verify(sent);
    expect(checks).toBe(1);
  });

  test('is rejected with 503 once its issuer has been unreachable for a day', async () => {
    const sent = token({ exp: START_SECONDS + 100_000 });
    await verifier.verify(sent);
    provider.fail();
    seconds += 24 * 60 * 60 + 1;
    await expect(verifier.verify(sent)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  test('does not share its claims with a token that differs by one character', async () => {
    const sent = token();
    await verifier.verify(sent);
    const [header, payload, signature] = sent.split('.') as [string, string, string];
    const other = `${signature[0] === 'A' ? 'B' : 'A'}${signature.slice(1)}`;
    await expect(verifier.verify([header, payload, other].join('.'))).rejects.toThrow('signature is invalid');
  });
});

test('a rejected token is checked again each time', async () => {
  const sent = token({ aud: 'other' });
  for (let count = 0; count < 2; count++) await expect(verifier.verify(sent)).rejects.toThrow('another audience');
  expect(checks).toBe(2);
});
