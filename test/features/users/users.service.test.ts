import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Tier } from '../../../src/limits/tiers.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createConnector, createKey, createProject, GOOD } from '../../support/resources.ts';
import { openRest, type Rest } from '../../support/rest.ts';

let app: TestApp;
let rest: Rest;
let pool: pg.Pool;

beforeAll(async () => {
  // Limits don't refill during a test.
  app = await startTestApp({ rateLimitNow: () => 0 });
  rest = await openRest(app);
  pool = new pg.Pool({ connectionString: app.databaseUrl });
});
afterAll(async () => {
  await pool?.end();
  await app?.stop();
});

const VIEWER =
  '{ viewer { tier limits { requestsPerMinute maxConnectors connectorCount } user { id issuer subject createdAt } } }';
type Viewer = { viewer: { tier: Tier; limits: Record<string, number | null>; user: Record<string, string> } };
const viewerOf = async (user: TestUser) => (await user.graphql<Viewer>(VIEWER)).data!.viewer;

/** Returns a caller with a token that has no tier. */
const plain = async (subject: string) => app.caller(await app.issuer.sign({ subject }));

describe('a tier', () => {
  test.each([
    ['STARTER', 60, 0],
    ['PRO', 300, 5],
    ['BUSINESS', 1000, 15],
    ['ENTERPRISE', null, null],
  ] as const)('%s allows %s requests per minute and %s connectors', async (tier, requestsPerMinute, maxConnectors) => {
    const user = await app.user(`user-${tier}`, tier);
    expect(await viewerOf(user)).toMatchObject({
      tier,
      limits: { requestsPerMinute, maxConnectors, connectorCount: 0 },
    });
    const { headers } = await rest.send(user, 'GET', '/api/projects');
    const policy = requestsPerMinute === null ? null : `"default";q=${requestsPerMinute};w=60`;
    expect(headers.get('ratelimit-policy')).toBe(policy);
  });

  test('is STARTER for a new user without a tier in the token', async () => {
    expect(await viewerOf(await plain('nobody'))).toMatchObject({ tier: 'STARTER' });
  });

  test('stays the same as in the last trusted token that had one', async () => {
    const user = await app.user('climber', 'PRO');
    expect((await viewerOf(user)).tier).toBe('PRO');
    expect((await viewerOf(await plain('climber'))).tier).toBe('PRO');
    expect((await viewerOf(await app.user('climber', 'BUSINESS'))).tier).toBe('BUSINESS');
    expect((await viewerOf(await plain('climber'))).tier).toBe('BUSINESS');
  });

  test('set by an operator applies starting with the next request, including for API keys', async () => {
    const user = await plain('promoted');
    const { base } = await createProject(user);
    const { key } = await createKey(user, base);
    expect((await viewerOf(app.caller(key))).tier).toBe('STARTER');
    await pool.query(`UPDATE "User" SET "tier" = 'BUSINESS' WHERE "subject" = 'promoted'`);
    expect((await viewerOf(user)).tier).toBe('BUSINESS');
    expect((await viewerOf(app.caller(key))).tier).toBe('BUSINESS');
  });

  test('can come with a custom rate limit in the token if it is ENTERPRISE', async () => {
    const user = app.caller(await app.issuer.sign({ subject: 'big', tier: 'ENTERPRISE', requestsPerMinute: 5000 }));
    expect((await viewerOf(user)).limits.requestsPerMinute).toBe(5000);
  });
});

describe('the rate limit', () => {
  test('is shared by a user and all their API keys, across REST and GraphQL', async () => {
    const user = await app.user('busy', 'STARTER');
    const { base } = await createProject(user);
    const key = app.caller((await createKey(user, base)).key);
    const send = [
      () => rest.send(user, 'GET', '/api/projects').then(({ status }) => status),
      () => rest.send(key, 'GET', base).then(({ status }) => status),
      () => key.graphql('{ viewer { tier } }').then(({ errors }) => (errors ? 429 : 200)),
    ];
    const statuses: number[] = [];
    for (let index = 0; index < 90; index++) statuses.push(await send[index % 3]!());
    // Two requests were sent earlier.
    expect(statuses).toEqual([...Array(58).fill(200), ...Array(32).fill(429)]);

    const response = await rest.send(user, 'POST', '/api/projects', { body: GOOD.project });
    expect(response).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } });
    expect(response.headers.get('ratelimit')).toMatch(/^"default";r=0;t=\d+$/);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await rest.send(await app.user('calm', 'STARTER'), 'GET', '/api/projects')).status).toBe(200);
  });
});

describe('an account', () => {
  test('is created by the first request and stays the same', async () => {
    const user = await app.user('newcomer');
    const first = await viewerOf(user);
    expect(first.user).toMatchObject({ subject: 'newcomer', issuer: app.issuer.config.issuer });
    expect(first.user.id).toMatch(/^usr_/);
    expect((await viewerOf(await app.user('newcomer'))).user).toEqual(first.user);
  });

  test("is created only once, even if a new user's first requests arrive simultaneously", async () => {
    const user = await app.user('twins');
    const ids = await Promise.all(Array.from({ length: 20 }, async () => (await viewerOf(user)).user.id));
    expect(new Set(ids).size).toBe(1);
  });

  test('counts the connectors in all its projects', async () => {
    const user = await app.user('collector');
    for (let index = 0; index < 2; index++) {
      const { base } = await createProject(user);
      await createConnector(user, base);
    }
    expect((await viewerOf(user)).limits).toMatchObject({ connectorCount: 2, maxConnectors: 5 });
  });
});

test.each([
  ['STARTER', 100_000, 100, 256],
  ['BUSINESS', 5_000_000, 5_120, 2_048],
] as const)(
  'the limits of %s include its daily limits',
  async (tier, maxReplayedDeliveriesPerDay, maxStoredContentMegabytesPerDay, maxStoredSchemaMegabytesPerDay) => {
    const user = await app.user(`daily-${tier}`, tier);
    const daily = {
      maxReplayedDeliveriesPerDay,
      maxChangeDeliveriesPerDay: maxReplayedDeliveriesPerDay,
      maxStoredContentMegabytesPerDay,
      maxStoredResponseMegabytesPerDay: 64,
      maxStoredSchemaMegabytesPerDay,
    };
    const { data } = await user.graphql(`{ viewer { limits { ${Object.keys(daily).join(' ')} } } }`);
    expect(data).toEqual({ viewer: { limits: daily } });
    const { body } = await user.rest<{ limits: object }>('GET', '/api/me');
    expect(body.limits).toMatchObject(daily);
  },
);
