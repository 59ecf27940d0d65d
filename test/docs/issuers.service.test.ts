import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAuthIssuers } from '../../src/auth/issuer-config.ts';
import { createTokenVerifier } from '../../src/auth/jwt.ts';
import {
  goodClaims,
  type IdentityProvider,
  makeToken,
  newSigningKey,
  type SigningKey,
  startIdentityProvider,
} from '../auth/identity-provider.ts';
import { codeBlocks, readPage, section } from './pages.ts';

const NOW_SECONDS = 1_800_000_000;

/** Each provider's access tokens according to its documentation, and its tokens for other services. */
const PROVIDERS = [
  {
    name: 'Auth0',
    claims: { aud: ['https://tollgate.example', 'https://YOUR_TENANT.us.auth0.com/userinfo'], azp: 'spa' },
    others: {
      'an ID token': { aud: 'spa' },
      'an issuer without its slash': { iss: 'https://YOUR_TENANT.us.auth0.com' },
    },
  },
  {
    name: 'Clerk',
    claims: { azp: 'https://console.example', sid: 'sess_1' },
    others: { 'another site': { azp: 'https://other.example' }, 'a token without azp': { azp: undefined } },
  },
  {
    name: 'Keycloak',
    claims: { aud: ['tollgate', 'account'], azp: 'console', typ: 'Bearer' },
    others: { 'a client without the mapper': { aud: 'account' } },
  },
  {
    name: 'Amazon Cognito',
    claims: { client_id: 'YOUR_CLIENT_ID', token_use: 'access' },
    others: {
      'an ID token': { client_id: undefined, aud: 'YOUR_CLIENT_ID', token_use: 'id' },
      'another app client': { client_id: 'other' },
    },
  },
  {
    name: 'Supabase Auth',
    claims: { aud: 'authenticated', role: 'authenticated', is_anonymous: false },
    others: { 'another project': { iss: 'https://other.supabase.co/auth/v1' }, 'the anon key': { aud: undefined } },
  },
];

let provider: IdentityProvider;
let key: SigningKey;
let page: string;

beforeAll(async () => {
  page = await readPage('docs/authentication.md');
  provider = await startIdentityProvider();
  key = await newSigningKey('RS256');
  provider.publish(key);
});
afterAll(() => provider.close());

describe.each(PROVIDERS)('the recipe for $name', ({ name, claims, others }) => {
  /** Verifies with the settings from the page. Only the keys come from the test's provider. */
  async function verify(changes: Record<string, unknown>) {
    const [text] = codeBlocks(section(page, `### ${name}`), 'json');
    const [issuer] = parseAuthIssuers(text!);
    const verifier = createTokenVerifier({
      issuers: [{ ...issuer!, jwksUri: provider.config.jwksUri! }],
      fetchJson: provider.fetchJson,
      log: pino({ level: 'silent' }),
      now: () => NOW_SECONDS * 1000,
    });
    const token = { ...goodClaims(NOW_SECONDS), aud: undefined, iss: issuer!.issuer, ...claims, ...changes };
    return verifier.verify(makeToken(key, token));
  }

  test('accepts the token it tells you to send', async () => {
    expect((await verify({})).subject).toBe('alice');
  });

  test.each(Object.entries(others))('rejects %s', async (_what, changes) => {
    await expect(verify(changes)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });
});
