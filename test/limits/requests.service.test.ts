import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';

let app: TestApp;
beforeAll(async () => {
  // Limits don't refill during a test.
  app = await startTestApp({ rateLimitNow: () => 0 });
});
afterAll(() => app?.stop());

async function exhaust(user: TestUser, times: number) {
  const responses = await Promise.all(Array.from({ length: times }, () => user.rest('GET', '/api/projects')));
  return responses.map(({ status }) => status);
}

describe('requests from an account', () => {
  test('are limited by its tier, and a rejected one gets 429 with Retry-After', async () => {
    const starter = await app.user('starter', 'STARTER');
    const statuses = await exhaust(starter, 70);
    expect(statuses.filter((status) => status === 200)).toHaveLength(60);

    const refused = await starter.rest<{ code: string }>('GET', '/api/projects');
    expect(refused).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } });
    expect(refused.headers.get('content-type')).toContain('application/problem+json');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(refused.headers.get('ratelimit-policy')).toBe('"default";q=60;w=60');
    expect(refused.headers.get('ratelimit')).toMatch(/^"default";r=0;t=\d+$/);
  });

  test('share one limit across REST and GraphQL, and across a user and their API keys', async () => {
    const user = await app.user('shared', 'STARTER');
    const { body: project } = await user.rest<{ id: string }>('POST', '/api/projects', {
      name: 'Shop',
      walletAddress: '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045',
    });
    const { body: minted } = await user.rest<{ key: string }>('POST', `/api/projects/${project.id}/keys`, {
      name: 'ci',
    });
    const key = app.caller(minted.key);
    // Two requests were sent earlier.
    expect(new Set(await exhaust(key, 58))).toEqual(new Set([200]));
    const response = await user.graphql('{ viewer { tier } }');
    expect(response.errors![0]!.extensions).toMatchObject({
      code: 'RATE_LIMITED',
      retryable: true,
      retryAfterSeconds: expect.any(Number),
    });
  });

  test("don't count against another account", async () => {
    const other = await app.user('somebody-else', 'STARTER');
    expect((await other.rest('GET', '/api/projects')).status).toBe(200);
  });

  test('are unlimited in the ENTERPRISE tier, unless the token has a limit', async () => {
    const unlimited = await app.user('unlimited', 'ENTERPRISE');
    expect(new Set(await exhaust(unlimited, 150))).toEqual(new Set([200]));
    expect((await unlimited.rest('GET', '/api/projects')).headers.get('ratelimit')).toBeNull();

    const token = await app.issuer.sign({ subject: 'agreed', tier: 'ENTERPRISE', requestsPerMinute: 90 });
    const agreed = app.caller(token);
    expect((await agreed.rest('GET', '/api/projects')).headers.get('ratelimit-policy')).toBe('"default";q=90;w=60');
    const statuses = await exhaust(agreed, 100);
    expect(statuses.filter((status) => status === 200)).toHaveLength(89);
  });
});

test('an address that tries many credentials gets 429 before they are checked', async () => {
  const own = await startTestApp({ rateLimitNow: () => 0 });
  try {
    const statuses = new Set<number>();
    for (let count = 0; count < 1_000 && !statuses.has(429); count++) {
      statuses.add((await own.caller(`not-a-token-${count}`).rest('GET', '/api/projects')).status);
    }
    expect(statuses).toEqual(new Set([401, 429]));
  } finally {
    await own.stop();
  }
});
