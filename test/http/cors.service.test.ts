import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';

const PAGE = 'http://localhost:3000';
const LISTED = 'https://app.example';

let app: TestApp;
let user: TestUser;

beforeAll(async () => {
  app = await startTestApp({ env: { CORS_ORIGINS: LISTED } });
  user = await app.user('alice');
});
afterAll(() => app?.stop());

/** Sends a request the way a browser does for a page. `fetch` doesn't allow the headers `Host` and `Origin`. */
function ask(
  server: TestApp,
  path: string,
  headers: Record<string, string>,
  { method = 'GET', body = '' } = {},
): Promise<{ status: number; allowed: string | undefined }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; allowed: string | undefined }>();
  request(new URL(path, server.url), { method, headers }, (response) => {
    response.resume();
    resolve({ status: response.statusCode!, allowed: response.headers['access-control-allow-origin'] });
  })
    .on('error', reject)
    .end(body);
  return promise;
}

const preflight = (server: TestApp, path: string, origin: string) =>
  ask(server, path, { origin, 'access-control-request-method': 'POST' }, { method: 'OPTIONS' });
const signIn = (server: TestApp, headers: Record<string, string>) =>
  ask(
    server,
    '/console/dev-token',
    { 'content-type': 'application/json', ...headers },
    { method: 'POST', body: JSON.stringify({ subject: 'mallory' }) },
  );

describe('on a development server that listens on loopback', () => {
  test('a page from another local server may call REST and GraphQL, with a preflight', async () => {
    for (const path of ['/api/me', '/graphql']) {
      expect(await preflight(app, path, PAGE), path).toEqual({ status: 204, allowed: PAGE });
    }
    const headers = { origin: PAGE, authorization: `Bearer ${user.token}` };
    expect(await ask(app, '/api/me', headers)).toEqual({ status: 200, allowed: PAGE });
    expect((await ask(app, '/graphql?query=%7Bviewer%7Btier%7D%7D', headers)).allowed).toBe(PAGE);
  });

  test('a page from any other site may not, no matter what its name starts with', async () => {
    for (const origin of ['http://localhost.evil.com', 'https://evil.com', 'null']) {
      expect((await preflight(app, '/api/me', origin)).allowed, origin).toBeUndefined();
      const headers = { origin, authorization: `Bearer ${user.token}` };
      expect((await ask(app, '/api/me', headers)).allowed, origin).toBeUndefined();
    }
  });

  test('a local page may not call through another site’s host name', async () => {
    const headers = { origin: PAGE, host: 'evil.com', authorization: `Bearer ${user.token}` };
    expect((await ask(app, '/api/me', headers)).allowed).toBeUndefined();
  });

  test('no page from another origin, even a listed one, can read a token from the dev issuer', async () => {
    expect(await signIn(app, {})).toEqual({ status: 200, allowed: undefined });
    for (const origin of [PAGE, LISTED]) {
      expect((await signIn(app, { origin })).allowed, origin).toBeUndefined();
    }
    expect((await preflight(app, '/console/dev-token', PAGE)).allowed).toBeUndefined();
    expect(await signIn(app, { host: 'evil.com' })).toEqual({ status: 403, allowed: undefined });
  });
});

test('a server that other machines can reach, or one in production, allows only the listed origins', async () => {
  for (const config of [{ host: '0.0.0.0' }, { production: true }]) {
    const other = await startTestApp({ env: { CORS_ORIGINS: LISTED }, config });
    try {
      expect((await preflight(other, '/api/me', PAGE)).allowed).toBeUndefined();
      expect((await preflight(other, '/api/me', LISTED)).allowed).toBe(LISTED);
    } finally {
      await other.stop();
    }
  }
});
