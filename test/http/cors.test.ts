import { expect, test } from 'vitest';
import { isLocalCall } from '../../src/http/cors.ts';

const call = { url: '/api/projects', hostname: 'localhost', origin: 'http://localhost:3000' };

test.each(['http://localhost:3000', 'http://127.0.0.1:5173', 'https://localhost', 'http://[::1]:8080'])(
  'a page from %s may call the API of a development server',
  (origin) => {
    expect(isLocalCall({ ...call, origin })).toBe(true);
  },
);

test.each([
  'http://localhost.evil.com',
  'http://127.0.0.1.evil.com',
  'https://evil.com',
  'http://evil.com:3000',
  'http://localhost@evil.com',
  'http://localhost:3000/path',
  'HTTP://LOCALHOST:3000',
  'file://localhost',
  'chrome-extension://localhost',
  'null',
  '',
])('a page from %j may not, because it is not an origin of this machine', (origin) => {
  expect(isLocalCall({ ...call, origin })).toBe(false);
});

test('a request without an origin does not come from a page on another origin', () => {
  expect(isLocalCall({ ...call, origin: undefined })).toBe(false);
});

test.each(['evil.com', 'rebound.example', ''])('a local page may not call through the host name %j', (hostname) => {
  expect(isLocalCall({ ...call, hostname })).toBe(false);
});

test.each(['/api/me', '/api/projects?limit=1', '/graphql', '/graphql?query=%7Bviewer%7Btier%7D%7D'])(
  'a local page may call %s',
  (url) => {
    expect(isLocalCall({ ...call, url })).toBe(true);
  },
);

test.each([
  '/console/dev-token',
  '/%63onsole/dev-token',
  '/console/settings.json',
  '/graphqlx',
  '/apix',
  '/metrics',
  '/gateway/proj_1/weather',
  '/',
])('a local page may not read %s', (url) => {
  expect(isLocalCall({ ...call, url })).toBe(false);
});
