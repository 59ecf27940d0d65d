import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.ts';

const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
});
afterAll(() => app?.stop());

const open = (path = '', headers: Record<string, string> = {}) =>
  fetch(`${app.url}/graphql${path}`, { headers: { ...BROWSER, ...headers } });

test('a browser gets the explorer without a credential', async () => {
  const response = await open();
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(await response.text()).toContain('Tollgate GraphQL');
});

test('opening the explorer executes nothing, no matter what the query string contains', async () => {
  const page = await (await open()).text();
  const query = encodeURIComponent('{ __schema { types { name } } }');
  for (const path of [`?query=${query}`, '?query={', '?health', '?x=/health']) {
    const response = await open(path);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(await response.text()).toBe(page);
  }
});

test('only a GET that accepts HTML needs no credential', async () => {
  for (const init of [{ method: 'POST' }, { method: 'HEAD' }, { headers: { accept: 'application/json' } }]) {
    const response = await fetch(`${app.url}/graphql?query={__typename}`, { headers: BROWSER, ...init });
    expect(response.status).toBe(401);
  }
});

test('an unchanged explorer is not sent again', async () => {
  const first = await open();
  const etag = first.headers.get('etag')!;
  await first.body?.cancel();
  const second = await open('', { 'if-none-match': etag });
  expect(second.status).toBe(304);
  expect(await second.text()).toBe('');
});

test('the explorer is compressed for clients that accept it', async () => {
  const plain = await open('', { 'accept-encoding': 'identity' });
  const compressed = await open('', { 'accept-encoding': 'gzip' });
  expect(plain.headers.get('content-encoding')).toBeNull();
  expect(compressed.headers.get('content-encoding')).toBe('gzip');
  expect(Number(compressed.headers.get('content-length'))).toBeLessThan(
    Number(plain.headers.get('content-length')) / 2,
  );
  expect(await compressed.text()).toBe(await plain.text());
});

test.each([
  ['gzip;q=0', null],
  ['gzip; q=0.0, br', null],
  ['br, gzip;q=0.5', 'gzip'],
  ['GZIP', 'gzip'],
])(
  'the explorer for a client that sends accept-encoding %s has the content encoding %s',
  async (accepted, encoding) => {
    const response = await open('', { 'accept-encoding': accepted });
    await response.body?.cancel();
    expect(response.headers.get('content-encoding')).toBe(encoding);
  },
);

test('the explorer loads nothing from other hosts', async () => {
  const html = await (await open()).text();
  const head = html.slice(0, html.indexOf('<script'));
  const tags = [...html.matchAll(/<(script|link|img|iframe|source|base|meta)\b[^>]{0,300}/gi)].map(([tag]) => tag);
  expect(tags.filter((tag) => /\b(src|href)\s*=\s*["']?(https?:)?\/\//i.test(tag))).toEqual([]);
  expect(head).not.toMatch(/@import|url\(\s*["']?https?:/);
});

test('the explorer runs only its own scripts, and no other page can embed it', async () => {
  const { headers } = await open();
  const policy = Object.fromEntries(
    headers
      .get('content-security-policy')!
      .split('; ')
      .map((directive) => [directive.split(' ')[0], directive.split(' ').slice(1)]),
  );
  expect(policy).toMatchObject({ 'default-src': ["'none'"], 'connect-src': ["'self'"], 'frame-ancestors': ["'none'"] });
  expect(policy['script-src']).not.toEqual([]);
  for (const source of policy['script-src']!) expect(source).toMatch(/^'sha256-/);
  expect(headers.get('x-frame-options')).toBe('DENY');
});

test('with GRAPHQL_EXPLORER=off, a browser is a client like any other', async () => {
  const other = await startTestApp({ env: { ROLES: 'api', GRAPHQL_EXPLORER: 'off' } });
  try {
    expect((await fetch(`${other.url}/graphql`, { headers: BROWSER })).status).toBe(401);
    expect(await (await fetch(`${other.url}/console/config.json`)).json()).toMatchObject({ hasExplorer: false });
  } finally {
    await other.stop();
  }
});
