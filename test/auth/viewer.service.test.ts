import { randomBytes } from 'node:crypto';
import pino from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { apiKeyHashes, newApiKey } from '../../src/auth/api-keys.ts';
import { createTokenVerifier, type TokenVerifier } from '../../src/auth/jwt.ts';
import {
  createAuthenticator as createServiceAuthenticator,
  idempotencyScope,
  rateLimitScope,
  type Viewer,
} from '../../src/auth/viewer.ts';
import { type Database, openDatabase } from '../../src/database/client.ts';
import type { AppError } from '../../src/errors.ts';
import { newId } from '../../src/ids.ts';
import { type Keyring, parseKeyring } from '../../src/secrets/keyring.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { waitingStatements } from '../support/waiting-statements.ts';
import {
  goodClaims,
  type IdentityProvider,
  makeToken,
  newSigningKey,
  type SigningKey,
  startIdentityProvider,
} from './identity-provider.ts';

const log = pino({ level: 'silent' });
const OLD = `old:${randomBytes(32).toString('base64')}`;
const NEW = `new:${randomBytes(32).toString('base64')}`;
const keyring = parseKeyring(OLD);

/** An authenticator whose callers are all at the same address. */
function createAuthenticator(options: Parameters<typeof createServiceAuthenticator>[0]) {
  const { authenticate, close } = createServiceAuthenticator(options);
  return { close, authenticate: (authorization: string | undefined) => authenticate(authorization, '203.0.113.9') };
}

let database: TestDatabase;
let db: Database;
let otherDb: Database;
let provider: IdentityProvider;
let signingKey: SigningKey;
let verifier: TokenVerifier;
let authenticator: ReturnType<typeof createAuthenticator>;
let queryCount = 0;

beforeAll(async () => {
  database = await createTestDatabase();
  db = await openDatabase({ url: database.url, poolSize: 8, log });
  otherDb = await openDatabase({ url: database.url, poolSize: 2, log });
  db.pool.on('acquire', () => queryCount++);
  provider = await startIdentityProvider();
  signingKey = await newSigningKey();
  provider.publish(signingKey);
});

afterAll(async () => {
  await provider.close();
  await otherDb.close();
  await db.close();
  await database.drop();
});

beforeEach(() => {
  verifier = createTokenVerifier({ issuers: [provider.config], fetchJson: provider.fetchJson, log });
  authenticator = createAuthenticator({ db, verifier, keyring, log });
  queryCount = 0;
});
afterEach(() => authenticator.close());

const trustingVerifier = () =>
  createTokenVerifier({
    issuers: [{ ...provider.config, tierClaim: 'tier', requestsPerMinuteClaim: 'rpm' }],
    fetchJson: provider.fetchJson,
    log,
  });
const tokenFor = (subject: string, claims = {}) => makeToken(signingKey, { ...goodClaims(), sub: subject, ...claims });
const newSubject = () => `user-${randomBytes(6).toString('hex')}`;

type MintedKey = { key: string; id: string; projectId: string; userId: string };

async function mintApiKey(ring: Keyring = keyring): Promise<MintedKey> {
  const userId = newId('User');
  const projectId = newId('Project');
  const id = newId('ApiKey');
  const key = newApiKey('TEST');
  await db.prisma.user.create({
    data: {
      id: userId,
      issuer: 'https://idp.example',
      subject: newSubject(),
      tier: 'PRO',
      projects: { create: { id: projectId, name: 'Shop', walletAddress: `0x${'0'.repeat(40)}` } },
    },
  });
  await db.prisma.apiKey.create({
    data: { id, projectId, name: 'key', environment: 'TEST', hash: apiKeyHashes(key, ring)[0]!, last4: key.slice(-4) },
  });
  return { key, id, projectId, userId };
}

describe('the Authorization header', () => {
  test.each([[undefined], ['']])('%j gets a challenge without an error code', async (authorization) => {
    const error = (await authenticator.authenticate(authorization).catch((reason: unknown) => reason)) as AppError;
    expect(error).toMatchObject({
      code: 'UNAUTHENTICATED',
      headers: { 'www-authenticate': 'Bearer realm="tollgate"' },
    });
    expect(queryCount).toBe(0);
  });

  test.each([
    'Bearer',
    'Bearer ',
    'Basic dXNlcjpwYXNz',
    'Token abc',
    'Bearer a b',
    'Bearer\tabc',
    'Bearer "abc"',
    'Bearerabc',
    'Bearer abc, Bearer def',
    'abc',
    `Bearer ${'='.repeat(50_000)}`,
  ])('%j is rejected', async (authorization) => {
    await expect(authenticator.authenticate(authorization)).rejects.toThrow('must have the form `Bearer <credential>`');
    expect(queryCount).toBe(0);
  });

  test.each(['Bearer ', 'bearer ', 'BEARER    '])('the scheme can be written as %j', async (scheme) => {
    expect((await authenticator.authenticate(scheme + tokenFor(newSubject()))).kind).toBe('user');
  });
});

describe('a token', () => {
  test('creates a user on the STARTER tier on first use, and finds the same user again', async () => {
    const subject = newSubject();
    const first = await authenticator.authenticate(`Bearer ${tokenFor(subject)}`);
    expect(first).toEqual({
      kind: 'user',
      userId: expect.stringMatching(/^usr_/),
      tier: 'STARTER',
      requestsPerMinute: null,
      expiresAt: expect.any(Date),
      signedInAt: expect.any(Date),
    });
    const second = await authenticator.authenticate(`Bearer ${tokenFor(subject)}`);
    expect(second.userId).toBe(first.userId);
  });

  test('used for the first time by twenty concurrent requests creates one user', async () => {
    const subject = newSubject();
    const viewers = await Promise.all(
      Array.from({ length: 20 }, () => authenticator.authenticate(`Bearer ${tokenFor(subject)}`)),
    );
    expect(new Set(viewers.map(({ userId }) => userId)).size).toBe(1);
    expect(await db.prisma.user.count({ where: { subject } })).toBe(1);
  });

  test('belongs to a different user if it has the same subject but another issuer', async () => {
    const subject = newSubject();
    const config = { ...provider.config, issuer: 'https://second.example' };
    const second = createTokenVerifier({ issuers: [config], fetchJson: provider.fetchJson, log });
    const secondAuthenticator = createAuthenticator({ db, verifier: second, keyring, log });
    const one = await authenticator.authenticate(`Bearer ${tokenFor(subject)}`);
    const two = await secondAuthenticator.authenticate(
      `Bearer ${tokenFor(subject, { iss: 'https://second.example' })}`,
    );
    expect(two.userId).not.toBe(one.userId);
  });

  test('sets the tier and the rate if its issuer is trusted, and they stay in effect when later tokens have neither', async () => {
    const subject = newSubject();
    const trusting = createAuthenticator({ db, verifier: trustingVerifier(), keyring, log });
    const claims = { tier: 'enterprise', rpm: 5000 };
    const asEnterprise = { tier: 'ENTERPRISE', requestsPerMinute: 5000 };
    expect(await trusting.authenticate(`Bearer ${tokenFor(subject, claims)}`)).toMatchObject(asEnterprise);
    expect(await trusting.authenticate(`Bearer ${tokenFor(subject)}`)).toMatchObject(asEnterprise);
    expect(await authenticator.authenticate(`Bearer ${tokenFor(subject, { tier: 'pro' })}`)).toMatchObject(
      asEnterprise,
    );

    const changed = await trusting.authenticate(`Bearer ${tokenFor(subject, { tier: 'business', rpm: null })}`);
    expect(changed).toMatchObject({ tier: 'BUSINESS', requestsPerMinute: null });
    const stored = await db.prisma.user.findFirstOrThrow({ where: { subject } });
    expect(stored).toMatchObject({ tier: 'BUSINESS', requestsPerMinute: null });
  });

  test('creates no user if it is rejected', async () => {
    const subject = newSubject();
    const expired = tokenFor(subject, { exp: Math.floor(Date.now() / 1000) - 60 });
    await expect(authenticator.authenticate(`Bearer ${expired}`)).rejects.toThrow('The token has expired.');
    expect(queryCount).toBe(0);
  });
});

describe('an API key', () => {
  test("has access to its project, on the tier of the project's owner", async () => {
    const { key, id, projectId, userId } = await mintApiKey();
    expect(await authenticator.authenticate(`Bearer ${key}`)).toEqual({
      kind: 'apiKey',
      apiKeyId: id,
      projectId,
      userId,
      tier: 'PRO',
      requestsPerMinute: null,
      scopes: ['READ', 'DELIVERIES', 'WRITE', 'CREDENTIALS'],
      expiresAt: null,
    });
  });

  test('is rejected if it does not exist', async () => {
    await expect(authenticator.authenticate(`Bearer ${newApiKey('LIVE')}`)).rejects.toThrow(
      'The API key does not exist.',
    );
  });

  test('is rejected without a database query if its checksum is wrong, for each of ten thousand guesses', async () => {
    const { key } = await mintApiKey();
    queryCount = 0;
    for (let index = 0; index < 10_000; index++) {
      const random = randomBytes(64)
        .toString('base64')
        .replace(/[^0-9A-Za-z]/g, '');
      const guess = index % 2 === 0 ? `tg_live_${random.slice(0, 49)}` : key.slice(0, -7) + random.slice(0, 7);
      await expect(authenticator.authenticate(`Bearer ${guess}`)).rejects.toThrow('mistyped or incomplete');
    }
    expect(queryCount).toBe(0);
  });

  test('is rejected by every node on the next request after one node revokes it', async () => {
    const { key, id } = await mintApiKey();
    const otherNode = createAuthenticator({ db: otherDb, verifier, keyring, log });
    for (let index = 0; index < 3; index++) await otherNode.authenticate(`Bearer ${key}`);
    await db.prisma.apiKey.update({ where: { id }, data: { revokedAt: new Date() } });
    await expect(otherNode.authenticate(`Bearer ${key}`)).rejects.toThrow('The API key has been revoked.');
    await otherNode.close();
  });

  test('stops working when its project is deleted', async () => {
    const { key, projectId } = await mintApiKey();
    await db.prisma.project.delete({ where: { id: projectId } });
    await expect(authenticator.authenticate(`Bearer ${key}`)).rejects.toThrow('The API key does not exist.');
  });

  test('has its last use recorded at most once a minute', async () => {
    const { key, id } = await mintApiKey();
    const use = async () => {
      await Promise.all(Array.from({ length: 10 }, () => authenticator.authenticate(`Bearer ${key}`)));
      await authenticator.close();
      return (await db.prisma.apiKey.findUniqueOrThrow({ where: { id } })).lastUsedAt?.getTime();
    };
    const first = await use();
    expect(first).toEqual(expect.any(Number));
    expect(await use()).toBe(first);
    await db.pool.query(`UPDATE "ApiKey" SET "lastUsedAt" = "lastUsedAt" - interval '61 seconds' WHERE id = $1`, [id]);
    expect(await use()).toBeGreaterThanOrEqual(first!);
  });

  test('is accepted even when its last use cannot be recorded', async () => {
    const { key } = await mintApiKey();
    const client = await db.pool.connect();
    await client.query('BEGIN');
    await client.query('LOCK TABLE "ApiKey" IN EXCLUSIVE MODE');
    expect((await authenticator.authenticate(`Bearer ${key}`)).kind).toBe('apiKey');
    await client.query('ROLLBACK');
    client.release();
  });

  test('still works after the keyring key is replaced, and is rehashed on its next use', async () => {
    const { key, id } = await mintApiKey(parseKeyring(OLD));
    const ring = parseKeyring(`${NEW},${OLD}`);
    const rotated = createAuthenticator({ db, verifier, keyring: ring, log });
    expect(await rotated.authenticate(`Bearer ${key}`)).toMatchObject({ apiKeyId: id });
    await rotated.close();
    const { hash } = await db.prisma.apiKey.findUniqueOrThrow({ where: { id } });
    expect(hash).toBe(apiKeyHashes(key, ring)[0]);

    const afterwards = createAuthenticator({ db, verifier, keyring: parseKeyring(NEW), log });
    expect(await afterwards.authenticate(`Bearer ${key}`)).toMatchObject({ apiKeyId: id });
    await afterwards.close();
  });
});

test('the callers of one address use at most a quarter of the connections, and others do not wait for them', async () => {
  const { authenticate, close } = createServiceAuthenticator({ db, poolSize: 12, verifier, keyring, log });
  const refusal = (address: string) => authenticate(`Bearer ${newApiKey('LIVE')}`, address).catch(({ code }) => code);
  const holder = await otherDb.pool.connect();
  await holder.query('BEGIN');
  await holder.query('LOCK TABLE "ApiKey"');
  const flood = Array.from({ length: 20 }, (_, index) => refusal(`2001:db8::${index}`));
  await expect.poll(() => waitingStatements(otherDb.pool)).toBe(3);
  const other = refusal('203.0.113.9');
  await expect.poll(() => waitingStatements(otherDb.pool)).toBe(4);
  await holder.query('COMMIT');
  holder.release();
  expect(await other).toBe('UNAUTHENTICATED');
  expect(new Set(await Promise.all(flood))).toEqual(new Set(['UNAUTHENTICATED']));
  await close();
});

test('a user and their API keys share a rate limit, but not stored responses', () => {
  const account = { userId: 'usr_1', tier: 'PRO' as const, requestsPerMinute: null };
  const user: Viewer = { ...account, kind: 'user', expiresAt: new Date() };
  const apiKey: Viewer = {
    ...account,
    kind: 'apiKey',
    apiKeyId: 'key_1',
    projectId: 'proj_1',
    scopes: ['READ'],
    expiresAt: null,
  };
  expect(rateLimitScope(apiKey)).toBe(rateLimitScope(user));
  expect(idempotencyScope(apiKey)).not.toBe(idempotencyScope(user));
});
