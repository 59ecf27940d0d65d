import { join, resolve } from 'node:path';
import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { trustProxies } from '../../src/http/client-address.ts';
import { registerDocs } from '../../src/http/docs.ts';
import { createHttpServer } from '../../src/http/server.ts';

const DOCS = resolve(import.meta.dirname, '../../dist/docs');

const http = createHttpServer({
  log: pino({ level: 'silent' }),
  allowedOrigins: { listed: [], allowsLocal: false },
  proxies: trustProxies([], pino({ level: 'silent' })),
  publicUrl: undefined,
  rewriteUrl: ({ url = '/' }) => url,
  onResponse: () => undefined,
});
let url: string;

beforeAll(async () => {
  await registerDocs(http, { folder: DOCS });
  url = await http.listen({ port: 0, host: '127.0.0.1' });
});
afterAll(() => http.close());

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(url + path, { headers: { accept: 'text/html', ...headers }, redirect: 'manual' });

test('pages are served without .html in their path, with a strict content security policy', async () => {
  for (const path of [
    '/docs/',
    '/docs/errors',
    '/docs/connectors/',
    '/docs/connectors/slack',
    '/docs/project/security',
  ]) {
    const { status, headers } = await get(path);
    expect([path, status, headers.get('content-type')]).toEqual([path, 200, 'text/html; charset=utf-8']);
    expect(headers.get('cache-control')).toBe('no-cache');
    const policy = headers.get('content-security-policy')!;
    expect(policy).toContain("default-src 'none'; script-src 'self';");
    expect(policy).toMatch(/, script-src http:\/\/\*:\*\/docs\/ https:\/\/\*:\*\/docs\/$/);
    expect((await get(path, { 'if-none-match': headers.get('etag')! })).status).toBe(304);
  }
});

test('the paths of folders get a slash at the end', async () => {
  for (const path of ['/docs', '/docs/connectors']) {
    const { status, headers } = await get(path);
    expect([status, headers.get('location')]).toEqual([302, `${path}/`]);
  }
});

test('scripts and styles of the documentation are compressed and cached for a year', async () => {
  const page = await (await get('/docs/errors')).text();
  for (const pattern of [/\/docs\/assets\/[^"]+\.js/, /\/docs\/assets\/[^"]+\.css/]) {
    const { status, headers } = await get(pattern.exec(page)![0]);
    expect([status, headers.get('content-encoding')]).toEqual([200, 'gzip']);
    expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  }
});

test('the files that pages link to are served as text or JSON', async () => {
  for (const [path, type] of [
    ['/docs/openapi.json', 'application/json; charset=utf-8'],
    ['/docs/project/schema.graphql', 'text/plain; charset=utf-8'],
    ['/docs/project/compose.yaml', 'text/plain; charset=utf-8'],
  ] as const) {
    const { status, headers } = await get(path);
    expect([status, headers.get('content-type')]).toEqual([200, type]);
  }
});

test('a missing page returns an HTML page to browsers, and a problem to programs', async () => {
  const page = await get('/docs/nope');
  expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
  const etag = page.headers.get('etag')!;
  expect((await get('/docs/nope', { 'if-none-match': etag })).status).toBe(404);
  const problem = await get('/docs/nope', { accept: 'application/json' });
  expect([problem.status, await problem.json()]).toEqual([404, expect.objectContaining({ code: 'NOT_FOUND' })]);
  expect(await (await get('/docs/assets/gone.js')).json()).toMatchObject({ code: 'NOT_FOUND' });
});

test('nothing outside the folder, and nothing about the build, is served', async () => {
  for (const path of ['/docs/..%2f..%2fpackage.json', '/docs/%2e%2e/console/index.html', '/docs/.vite/packages.json'])
    expect((await get(path)).status).toBe(404);
});

test('the URL in a problem’s type opens the section about its code', async () => {
  const { type } = (await (await fetch(`${url}/api/nothing`)).json()) as { type: string };
  const { pathname, hash } = new URL(type, `${url}/api/nothing`);
  expect(hash).toBe('#not_found');
  expect(await (await get(pathname)).text()).toContain(`id="${hash.slice(1)}"`);
});

test('without the built documentation, the server runs without it', async () => {
  const bare = createHttpServer({
    log: pino({ level: 'silent' }),
    allowedOrigins: { listed: [], allowsLocal: false },
    proxies: trustProxies([], pino({ level: 'silent' })),
    publicUrl: undefined,
    rewriteUrl: ({ url: path = '/' }) => path,
    onResponse: () => undefined,
  });
  await registerDocs(bare, { folder: join(DOCS, 'missing') });
  expect((await bare.inject('/docs/')).statusCode).toBe(404);
  await bare.close();
});
