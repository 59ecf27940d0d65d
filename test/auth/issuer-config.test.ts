import { describe, expect, test } from 'vitest';
import { parseAuthIssuers } from '../../src/auth/issuer-config.ts';

const GOOD = { issuer: 'https://idp.example', jwksUri: 'https://idp.example/jwks.json', audience: 'tollgate' };

describe('AUTH_ISSUERS', () => {
  test('accepts a minimal issuer and fills in the algorithms', () => {
    expect(parseAuthIssuers(JSON.stringify([GOOD]))).toEqual([{ ...GOOD, algorithms: ['RS256', 'ES256', 'EdDSA'] }]);
  });

  test('accepts every field', () => {
    const full = {
      ...GOOD,
      audience: ['a', 'b'],
      requiredClaims: { token_use: 'access', azp: ['https://a.example', 'https://b.example'], mfa: true },
      algorithms: ['PS256'],
      tierClaim: 'https://tollgate.example/tier',
      requestsPerMinuteClaim: 'rpm',
      emailClaim: 'https://tollgate.example/email',
      emailVerifiedClaim: 'https://tollgate.example/email_verified',
    };
    expect(parseAuthIssuers(JSON.stringify([full]))).toEqual([full]);
  });

  test('accepts an empty list, and an issuer with required claims but no audience', () => {
    expect(parseAuthIssuers('[]')).toEqual([]);
    const cognito = { ...GOOD, audience: undefined, requiredClaims: { client_id: 'x', token_use: 'access' } };
    expect(parseAuthIssuers(JSON.stringify([cognito]))).toHaveLength(1);
  });

  test.each([
    ['invalid JSON', '{', /^Must be valid JSON: /],
    ['an object', '{}', 'Must be a list of issuers.'],
    ['a missing issuer', [{ ...GOOD, issuer: undefined }], '[0].issuer: Must be a string.'],
    ['an empty issuer', [{ ...GOOD, issuer: '' }], "[0].issuer: Can't be empty."],
    [
      'a missing jwksUri',
      [{ ...GOOD, jwksUri: undefined }],
      '[0].jwksUri: Must be the http(s) URL of a JSON Web Key Set.',
    ],
    ['a file', [{ ...GOOD, jwksUri: 'file:///etc/passwd' }], /^\[0\]\.jwksUri: Must be the http/],
    ['an issuer with no audience or claims', [GOOD, { ...GOOD, audience: undefined }], /\[1\]: Requires `audience`/],
    ['an empty audience', [{ ...GOOD, audience: '' }], /\[0\]\.audience: /],
    ['an empty list of audiences', [{ ...GOOD, audience: [] }], /\[0\]\.audience: /],
    ['empty claims', [{ ...GOOD, audience: undefined, requiredClaims: {} }], /\[0\]: Requires `audience`/],
    ['a claim without accepted values', [{ ...GOOD, requiredClaims: { azp: [] } }], /\[0\]\.requiredClaims\.azp: /],
    ['a shared-secret algorithm', [{ ...GOOD, algorithms: ['HS256'] }], /\[0\]\.algorithms\[0\]: Must be one of RS256/],
    ['the algorithm none', [{ ...GOOD, algorithms: ['none'] }], /\[0\]\.algorithms\[0\]/],
    ['an empty list of algorithms', [{ ...GOOD, algorithms: [] }], "[0].algorithms: Can't be empty."],
    ['an unknown field', [{ ...GOOD, audiences: 'x' }], /"audiences"/],
    ['inline keys', [{ ...GOOD, jwks: { keys: [] } }], /"jwks"/],
    ['an issuer that is listed twice', [GOOD, GOOD], 'Must not list an issuer twice.'],
  ])('%s is rejected with a message that says where the error is', (_what, value, message) => {
    expect(() => parseAuthIssuers(typeof value === 'string' ? value : JSON.stringify(value))).toThrow(message);
  });
});
