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

test('opening the explorer executes nothing, whatever the query string contains', async () => {
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

test('the explorer loads nothing from other hosts', async () => {
  const html = await (await open()).text();
  const head = html.slice(0, html.indexOf('<script'));
  const tags = [...html.matchAll(/<(script|link|img|iframe|source|base|meta)\b[^>]{0,300}/gi)].map(([tag]) => tag);
  expect(tags.filter((tag) => /\b(src|href)\s*=\s*["']?(https?:)?\/\//i.test(tag))).toEqual([]);
  expect(head).not.toMatch(/@import|url\(\s*["']?https?:/);
});
