import { createHmac, createPublicKey } from 'node:crypto';
import { inspect } from 'node:util';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTokenVerifier, type TokenVerifier } from '../../src/auth/jwt.ts';
import { AppError } from '../../src/errors.ts';
import {
  encode,
  goodClaims,
  type IdentityProvider,
  makeToken,
  newSigningKey,
  type SigningKey,
  startIdentityProvider,
} from './identity-provider.ts';

const log = pino({ level: 'silent' });
const NOW_SECONDS = 1_800_000_000;
const now = () => NOW_SECONDS * 1000;

let provider: IdentityProvider;
let attackerServer: IdentityProvider;
let verifier: TokenVerifier;
let attacker: SigningKey;
let spki: string;
const keys = {} as Record<'ES256' | 'RS256' | 'EdDSA' | 'twinA' | 'twinB' | 'encryption', SigningKey>;

beforeAll(async () => {
  provider = await startIdentityProvider();
  attackerServer = await startIdentityProvider();
  keys.ES256 = await newSigningKey('ES256');
  keys.RS256 = await newSigningKey('RS256');
  keys.EdDSA = await newSigningKey('EdDSA');
  keys.twinA = await newSigningKey('ES256', 'twin');
  keys.twinB = await newSigningKey('ES256', 'twin');
  keys.encryption = await newSigningKey('ES256', 'for-encryption');
  keys.encryption.publicJwk.use = 'enc';
  attacker = await newSigningKey('ES256');
  attackerServer.publish(attacker);
  provider.publish(...Object.values(keys));
  const rsaKey = createPublicKey({ key: { ...keys.RS256.publicJwk }, format: 'jwk' });
  spki = rsaKey.export({ type: 'spki', format: 'pem' }).toString();
  verifier = createTokenVerifier({ issuers: [provider.config], fetchJson: provider.fetchJson, log, now });
  await verifier.start();
});

afterAll(async () => {
  verifier.stop();
  await provider.close();
  await attackerServer.close();
});

const good = (changes: Record<string, unknown> = {}) => ({ ...goodClaims(NOW_SECONDS), ...changes });
const signed = (changes: Record<string, unknown> = {}, header: Record<string, unknown> = {}) =>
  makeToken(keys.ES256, good(changes), header);
const withHmac = (key: string | Buffer, alg = 'HS256') => {
  const input = `${encode({ alg, kid: keys.RS256.kid, typ: 'JWT' })}.${encode(good())}`;
  return `${input}.${createHmac('sha256', key).update(input).digest('base64url')}`;
};

describe('a valid token', () => {
  test.each(['ES256', 'RS256', 'EdDSA'] as const)('signed with %s is accepted', async (algorithm) => {
    expect(await verifier.verify(makeToken(keys[algorithm], good()))).toEqual({
      issuer: 'https://idp.example',
      subject: 'alice',
      expiresAt: new Date((NOW_SECONDS + 300) * 1000),
      signedInAt: new Date(NOW_SECONDS * 1000),
    });
  });

  test.each([
    ['its auth_time', { auth_time: NOW_SECONDS - 7200 }, 7200],
    ['its iat, if it has no auth_time', { iat: NOW_SECONDS - 60 }, 60],
    ['its iat, if its auth_time is later', { auth_time: NOW_SECONDS * 1000, iat: NOW_SECONDS - 60 }, 60],
    ['its iat, if its auth_time is not a number', { auth_time: `${NOW_SECONDS}`, iat: NOW_SECONDS - 60 }, 60],
  ])('takes the sign-in time from %s', async (_what, changes, agoSeconds) => {
    const { signedInAt } = await verifier.verify(signed(changes));
    expect(signedInAt).toEqual(new Date((NOW_SECONDS - agoSeconds) * 1000));
  });

  test.each([
    ['that expired 29 s ago', {}, { exp: NOW_SECONDS - 29 }],
    ['that becomes valid in 29 s', {}, { nbf: NOW_SECONDS + 29 }],
    ['of type at+jwt', { typ: 'at+jwt' }, {}],
    ['of type application/at+jwt', { typ: 'application/at+jwt' }, {}],
    ['without a type', { typ: undefined }, {}],
    ['for several audiences', {}, { aud: ['other', 'tollgate-api'] }],
  ])('%s is accepted', async (_what, header, changes) => {
    expect((await verifier.verify(signed(changes, header))).subject).toBe('alice');
  });

  test('has its tier and rate ignored when its issuer is not trusted to set them', async () => {
    const claims = await verifier.verify(signed({ tier: 'enterprise', requestsPerMinute: 9 }));
    expect(claims).not.toHaveProperty('tier');
    expect(claims).not.toHaveProperty('requestsPerMinute');
  });
});

// Each token has exactly one flaw, which its name describes.
const FORGED: [name: string, token: () => string, detail: RegExp | string][] = [
  ['empty', () => '', /neither an API key nor a well-formed token/],
  ['not a token', () => 'hello', /well-formed/],
  ['three empty parts', () => '..', /well-formed/],
  ['a payload that is not an object', () => makeToken(keys.ES256, ['alice']), /well-formed/],
  ['a payload that is not JSON', () => signed().replace(/\.[^.]*\./, '.e30x.'), /well-formed/],
  ['alg none without a signature', () => `${encode({ alg: 'none' })}.${encode(good())}.`, /algorithm/],
  ['alg NONE with a signature', () => signed({}, { alg: 'NONE' }), /algorithm/],
  ['alg missing', () => signed({}, { alg: undefined }), 'The token is malformed.'],
  ['HS256 with the public key in PEM', () => withHmac(spki), /algorithm/],
  ['HS256 with the public key in JSON', () => withHmac(JSON.stringify(keys.RS256.publicJwk)), /algorithm/],
  ['HS256 with the modulus', () => withHmac(Buffer.from(keys.RS256.publicJwk.n!, 'base64url')), /algorithm/],
  ['HS256 with an empty key', () => withHmac(''), /algorithm/],
  ['an algorithm that is not on the list', () => makeToken(keys.RS256, good(), { alg: 'PS256' }), /algorithm/],
  [
    'RS256 under the id of an ES256 key',
    () => makeToken(keys.RS256, good(), { kid: keys.ES256.kid }),
    /does not match any key/,
  ],
  ['signed with an attacker’s key', () => makeToken(attacker, good(), { kid: keys.ES256.kid }), /signature/],
  ['unknown key id', () => makeToken(attacker, good()), /does not match any key/],
  ['key id that two keys share', () => makeToken(keys.twinA, good()), /more than one key/],
  ['key for encryption', () => makeToken(keys.encryption, good()), /does not match any key/],
  ['no key id', () => signed({}, { kid: undefined }), /more than one key/],
  ['key id with a path', () => signed({}, { kid: '../../dev/null' }), /does not match any key/],
  ['own key in jwk', () => makeToken(attacker, good(), { kid: keys.ES256.kid, jwk: attacker.publicJwk }), /signature/],
  [
    'own key at jku',
    () => makeToken(attacker, good(), { jku: attackerServer.config.jwksUri }),
    /does not match any key/,
  ],
  [
    'own key at x5u',
    () => makeToken(attacker, good(), { x5u: `${attackerServer.receiver.url}/x5u` }),
    /does not match any key/,
  ],
  ['own key in x5c', () => makeToken(attacker, good(), { kid: keys.ES256.kid, x5c: ['MIIB'] }), /signature/],
  ['crit with an unknown extension', () => signed({}, { crit: ['exp-2'], 'exp-2': 1 }), 'The token is malformed.'],
  ['b64 without crit', () => signed({}, { b64: false }), 'The token is malformed.'],
  ['crit with b64', () => signed({}, { crit: ['b64'], b64: false }), 'The token is malformed.'],
  [
    'payload changed after signing',
    () => signed().replace(/\.[^.]*\./, `.${encode(good({ sub: 'root' }))}.`),
    /signature/,
  ],
  ['signature cut off', () => signed().replace(/[^.]*$/, ''), /signature/],
  ['signature of zeros', () => signed().replace(/[^.]*$/, 'A'.repeat(86)), /signature/],
  ['wrong iss', () => signed({ iss: 'https://evil.example' }), /not configured/],
  ['iss with a trailing slash', () => signed({ iss: 'https://idp.example/' }), /not configured/],
  ['iss in a list', () => signed({ iss: ['https://idp.example'] }), /not configured/],
  ['no iss', () => signed({ iss: undefined }), /not configured/],
  ['wrong aud', () => signed({ aud: 'other-api' }), 'The token is for another audience.'],
  ['aud that starts with ours', () => signed({ aud: 'tollgate-api-2' }), 'The token is for another audience.'],
  ['no aud', () => signed({ aud: undefined }), 'The token has no aud claim.'],
  ['empty aud list', () => signed({ aud: [] }), 'The token is for another audience.'],
  ['typ of a logout token', () => signed({}, { typ: 'logout+jwt' }), /not an access token/],
  ['typ of a DPoP proof', () => signed({}, { typ: 'dpop+jwt' }), /not an access token/],
  ['typ that is not a string', () => signed({}, { typ: 5 }), /malformed|not an access token/],
  ['no exp', () => signed({ exp: undefined }), 'The token has no exp claim.'],
  ['exp 31 s ago', () => signed({ exp: NOW_SECONDS - 31 }), 'The token has expired.'],
  ['exp as a string', () => signed({ exp: String(NOW_SECONDS + 300) }), /exp/],
  ['exp beyond the largest date', () => signed({ exp: 1e300 }), 'The token’s exp claim is not a valid time.'],
  ['nbf in 31 s', () => signed({ nbf: NOW_SECONDS + 31 }), 'The token is not valid yet.'],
  ['iat in 31 s', () => signed({ iat: NOW_SECONDS + 31 }), 'The token’s iat claim is in the future.'],
  ['no iat', () => signed({ iat: undefined }), 'The token has no iat claim.'],
  ['iat as a string', () => signed({ iat: 'now' }), /iat/],
  ['no sub', () => signed({ sub: undefined }), 'The token has no sub claim.'],
  ['empty sub', () => signed({ sub: '' }), /sub claim/],
  ['sub that is a number', () => signed({ sub: 7 }), /sub claim/],
  ['sub with a NUL byte', () => signed({ sub: 'alice\0' }), /sub claim/],
  ['sub with broken Unicode', () => makeToken(keys.ES256, good({ sub: '\ud800' })), /sub claim/],
  ['sub of 256 characters', () => signed({ sub: 'a'.repeat(256) }), /sub claim/],
  ['more than 8 KB', () => signed({ filler: 'x'.repeat(8192) }), 'The token is larger than 8 KB.'],
  ['an encrypted token', () => `${encode({ alg: 'dir', enc: 'A256GCM' })}..AAAA.AAAA.AAAA`, /well-formed/],
];

describe('a forged token', () => {
  test.each(FORGED)('is rejected: %s', async (_name, token, detail) => {
    const error = await verifier.verify(token()).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(AppError);
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain('alice');
    expect(error).toMatchObject({ code: 'UNAUTHENTICATED', status: 401, message: expect.stringMatching(detail) });
  });

  test("is rejected without sending a request to the attacker's server", async () => {
    for (const [, token] of FORGED) await verifier.verify(token()).catch(() => {});
    expect(attackerServer.receiver.requests).toEqual([]);
  });

  test('is rejected with a challenge that says why, in characters that RFC 6750 allows', async () => {
    for (const [, token] of FORGED) {
      const error = (await verifier.verify(token()).catch((reason: unknown) => reason)) as AppError;
      expect(error.headers['www-authenticate']).toMatch(
        /^Bearer realm="tollgate", error="invalid_token", error_description="[ !#-[\]-~]+"$/,
      );
    }
  });
});

describe('an issuer without an audience', () => {
  const cognito = () => ({
    ...provider.config,
    audience: undefined,
    requiredClaims: { token_use: 'access', client_id: ['app-1', 'app-2'] },
  });
  const verify = (changes: Record<string, unknown>) => {
    const verifierOfIt = createTokenVerifier({ issuers: [cognito()], fetchJson: provider.fetchJson, log, now });
    return verifierOfIt.verify(signed({ aud: undefined, ...changes }));
  };

  test('rejects tokens without its required claims', async () => {
    expect((await verify({ token_use: 'access', client_id: 'app-2' })).subject).toBe('alice');
    await expect(verify({ token_use: 'id', client_id: 'app-1' })).rejects.toThrow('The token’s token_use claim');
    await expect(verify({ token_use: 'access', client_id: 'app-3' })).rejects.toThrow('The token’s client_id claim');
    await expect(verify({ token_use: 'access' })).rejects.toThrow('The token has no client_id claim.');
    await expect(verify({ token_use: 'access', client_id: ['app-1'] })).rejects.toThrow('The token’s client_id claim');
  });

  test.each([[{}], [{ requiredClaims: {} }], [{ audience: '' }]])(
    'cannot be configured with %j, which would accept tokens for any audience',
    (changes) => {
      const config = { ...provider.config, audience: undefined, ...changes };
      expect(() => createTokenVerifier({ issuers: [config], fetchJson: provider.fetchJson, log })).toThrow(
        'neither audience nor requiredClaims',
      );
    },
  );
});

describe('an issuer that is trusted to verify email addresses', () => {
  const CLAIMS = {
    emailClaim: 'https://tollgate.example/email',
    emailVerifiedClaim: 'https://tollgate.example/verified',
  };
  const emailOf = async (changes: Record<string, unknown>, trust: object) => {
    const config = { ...provider.config, ...trust };
    const trusting = createTokenVerifier({ issuers: [config], fetchJson: provider.fetchJson, log, now });
    return (await trusting.verify(signed(changes))).email;
  };

  test.each([
    [{ email: 'Bob@Example.com', email_verified: true }, { emailClaim: 'email' }, 'bob@example.com'],
    [
      { 'https://tollgate.example/email': 'bob@example.com', 'https://tollgate.example/verified': true },
      CLAIMS,
      'bob@example.com',
    ],
    // Without the setting, the issuer isn't trusted.
    [{ email: 'bob@example.com', email_verified: true }, {}, undefined],
    [{ email: 'bob@example.com', email_verified: true }, CLAIMS, undefined],
    [{ email: 'bob@example.com' }, { emailClaim: 'email' }, undefined],
    [{ email: 'bob@example.com', email_verified: false }, { emailClaim: 'email' }, undefined],
    [{ email: 'bob@example.com', email_verified: 'true' }, { emailClaim: 'email' }, undefined],
    [{ email: 'bob@example.com', email_verified: 1 }, { emailClaim: 'email' }, undefined],
    [{ email: ['bob@example.com'], email_verified: true }, { emailClaim: 'email' }, undefined],
    [{ email: '\u212Aevin@example.com', email_verified: true }, { emailClaim: 'email' }, undefined],
  ])('turns the claims %j and the setting %j into the address %s', async (changes, trust, expected) => {
    expect(await emailOf(changes, trust)).toBe(expected);
  });
});

describe('an issuer that is trusted to set tiers', () => {
  const verify = async (changes: Record<string, unknown>) => {
    const config = { ...provider.config, tierClaim: 'https://tollgate.example/tier', requestsPerMinuteClaim: 'rpm' };
    const trusting = createTokenVerifier({ issuers: [config], fetchJson: provider.fetchJson, log, now });
    const { tier, requestsPerMinute } = await trusting.verify(signed(changes));
    return [tier, requestsPerMinute];
  };

  test.each([
    [{ 'https://tollgate.example/tier': 'pro' }, ['PRO', undefined]],
    [{ 'https://tollgate.example/tier': 'ENTERPRISE', rpm: 5000 }, ['ENTERPRISE', 5000]],
    [{ rpm: null }, [undefined, null]],
    [{}, [undefined, undefined]],
    [{ 'https://tollgate.example/tier': 'gold', rpm: -1 }, [undefined, undefined]],
    [{ 'https://tollgate.example/tier': ['pro'], rpm: '5' }, [undefined, undefined]],
    [{ 'https://tollgate.example/tier': 'constructor', rpm: 1.5 }, [undefined, undefined]],
  ])('turns the claims %j into the tier and rate %j', async (changes, expected) => {
    expect(await verify(changes)).toEqual(expected);
  });
});
