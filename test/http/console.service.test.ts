import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.ts';

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
});
afterAll(() => app?.stop());

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(app.url + path, { headers: { accept: 'text/html', ...headers }, redirect: 'manual' });

const askForToken = (body: unknown) =>
  fetch(`${app.url}/console/dev-token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

test('a browser that opens the service is redirected to the console, and a program gets 404', async () => {
  for (const path of ['/', '/console']) {
    const { status, headers } = await get(path);
    expect([status, headers.get('location')]).toEqual([302, '/console/']);
  }
  expect((await get('/', { accept: 'application/json' })).status).toBe(404);
});

test('every path under /console/ serves the page, which is revalidated on each visit', async () => {
  for (const path of ['/console/', '/console/projects/proj_x/deliveries?x=1']) {
    const response = await get(path);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(response.headers.get('cache-control')).toBe('no-cache');
    expect(response.headers.get('x-frame-options')).toBe('DENY');
    expect((await get(path, { 'if-none-match': response.headers.get('etag')! })).status).toBe(304);
  }
});

test('files named after their content hash are cached for a year, and a missing file returns 404', async () => {
  const page = await (await get('/console/')).text();
  const [script] = /\/console\/assets\/[^"]+\.js/.exec(page)!;
  const { status, headers } = await get(script);
  expect([status, headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8']);
  expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  expect(headers.get('content-encoding')).toBe('gzip');
  expect((await get('/console/assets/gone-12345678.js')).status).toBe(404);
  const outside = await (await get('/console/..%2f..%2fpackage.json')).text();
  expect(outside).not.toContain('"dependencies"');
});

test('a development server issues a token for any subject, with the issuer of `npm run token`', async () => {
  expect(await (await get('/console/config.json')).json()).toMatchObject({ signIn: { kind: 'development' } });
  const { token } = (await (await askForToken({ subject: 'ada', tier: 'PRO' })).json()) as { token: string };
  const { body } = await app.caller(token).rest('GET', '/api/projects');
  expect(body).toEqual({ data: [], nextCursor: null });
  for (const wrong of [{}, { subject: '' }, { subject: 'a', tier: 'GOLD' }, { subject: 'a', exp: 1 }]) {
    expect((await askForToken(wrong)).status).toBe(422);
  }
});

/** Asks for a token with these headers, which `fetch` doesn't let callers set. Returns the status. */
const askWith = (url: string, headers: Record<string, string>) =>
  new Promise((resolve, reject) => {
    const { port } = new URL(url);
    const path = '/console/dev-token';
    const sent = { 'content-type': 'application/json', ...headers };
    request({ host: '127.0.0.1', port, path, method: 'POST', headers: sent }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end('{"subject":"alice"}');
  });

test('a page that uses DNS rebinding gets no token', async () => {
  expect(await askWith(app.url, { host: 'rebound.example' })).toBe(403);
});

test('a request through a proxy on the same machine gets no token, no matter what its headers say', async () => {
  const proxied = await startTestApp({ env: { ROLES: 'api', TRUSTED_PROXIES: '127.0.0.1' } });
  try {
    const attempts: Record<string, string>[] = [
      { host: 'rebound.example', 'x-forwarded-host': 'localhost' },
      { host: 'localhost', 'x-forwarded-for': '192.0.2.1' },
      { host: 'rebound.example', 'x-forwarded-host': 'localhost', 'x-forwarded-for': '127.0.0.1' },
    ];
    for (const headers of attempts) expect(await askWith(proxied.url, headers)).toBe(403);
    expect(await askWith(proxied.url, { host: 'localhost' })).toBe(200);
  } finally {
    await proxied.stop();
  }
});

test('a development server that others can reach issues no tokens', async () => {
  const open = await startTestApp({ env: { ROLES: 'api', HOST: '0.0.0.0' } });
  try {
    const response = await fetch(`${open.url}/console/config.json`);
    expect(await response.json()).toMatchObject({ signIn: { kind: 'token' } });
    const refused = await fetch(`${open.url}/console/dev-token`, { method: 'POST', body: '{"subject":"alice"}' });
    expect(refused.status).toBeGreaterThanOrEqual(400);
  } finally {
    await open.stop();
  }
});
