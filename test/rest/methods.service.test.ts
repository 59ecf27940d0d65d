import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROUTES } from '../../src/rest/routes.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { operatorsEnv } from '../support/operator.ts';
import { sendRaw } from '../support/raw-http.ts';
import { createProject } from '../support/resources.ts';
import { openRest, type Rest } from '../support/rest.ts';

let app: TestApp;
let rest: Rest;
let alice: TestUser;

beforeAll(async () => {
  app = await startTestApp({ env: operatorsEnv('alice') });
  rest = await openRest(app);
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(() => app?.stop());

const byPath = Map.groupBy(ROUTES, ({ path }) => path);
const paths = [...byPath].map(([path, routes]) => {
  const methods = routes.map(({ method }) => method as string);
  const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].sort().join(', ');
  return { path, methods, allow };
});

describe.each([...paths, { path: '/api/openapi.json', methods: ['GET'], allow: 'GET, HEAD, OPTIONS' }])(
  '$path',
  ({ path, methods, allow }) => {
    const others = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'QUERY'].filter((method) => !methods.includes(method));

    test.each(others)(
      'returns 405 with Allow to %s, with or without a credential and with any body',
      async (method) => {
        for (const credential of [undefined, alice]) {
          const body = method === 'GET' ? undefined : Buffer.from('{broken');
          const response = await rest.send(credential, method, path, {
            body,
            headers: { 'content-type': 'text/plain' },
          });
          expect(response).toMatchObject({ status: 405, body: { code: 'METHOD_NOT_ALLOWED' } });
          expect(response.headers.get('allow')).toBe(allow);
        }
      },
    );

    test('returns the allowed methods to OPTIONS', async () => {
      const response = await rest.send(undefined, 'OPTIONS', path);
      expect(response).toMatchObject({ status: 204, text: '' });
      expect(response.headers.get('allow')).toBe(allow);
    });

    test('responds to HEAD as it does to GET, but without a body', async () => {
      const [head, get] = await Promise.all([rest.send(alice, 'HEAD', path), rest.send(alice, 'GET', path)]);
      expect(head.text).toBe('');
      expect(head.status).toBe(get.status);
      for (const name of ['content-type', 'allow', 'link']) expect(head.headers.get(name)).toBe(get.headers.get(name));
    });
  },
);

test('HEAD returns the Content-Length of GET', async () => {
  const { base } = await createProject(alice);
  const [head, get] = await Promise.all([rest.send(alice, 'HEAD', base), rest.send(alice, 'GET', base)]);
  expect(head).toMatchObject({ status: 200, text: '' });
  expect(head.headers.get('content-length')).toBe(String(get.text.length));
  expect((await rest.send(undefined, 'HEAD', base)).status).toBe(401);
});

test('TRACE is rejected and echoes nothing', async () => {
  const [response] = await sendRaw(app.url, [
    'TRACE /api/projects HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\n\r\n',
  ]);
  expect(response!.status).toBe(405);
  expect(response!.text).not.toContain('secret');
});

describe('a page on another origin', () => {
  test('is not allowed by default', async () => {
    const headers = { origin: 'https://console.example', 'access-control-request-method': 'POST' };
    const preflight = await rest.send(undefined, 'OPTIONS', '/api/projects', { headers });
    const request = await rest.send(alice, 'GET', '/api/projects', { headers });
    for (const response of [preflight, request]) expect(response.headers.get('access-control-allow-origin')).toBeNull();
  });

  test('is allowed, without cookies, only if its origin is in CORS_ORIGINS', async () => {
    const other = await startTestApp({ env: { CORS_ORIGINS: 'https://console.example, https://b.example' } });
    try {
      const client = await openRest(other);
      const ask = (origin: string) =>
        client.send(undefined, 'OPTIONS', '/api/projects', {
          headers: { origin, 'access-control-request-method': 'PATCH' },
        });
      const allowed = await ask('https://console.example');
      expect(allowed.status).toBe(204);
      expect(Object.fromEntries(allowed.headers)).toMatchObject({
        'access-control-allow-origin': 'https://console.example',
        'access-control-allow-methods': 'GET, POST, PATCH, DELETE',
        'access-control-allow-headers': expect.stringContaining('authorization'),
        vary: 'Origin',
      });
      expect(allowed.headers.get('access-control-allow-credentials')).toBeNull();
      for (const origin of [
        'https://evil.example',
        'https://console.example.evil.example',
        'null',
        'http://console.example',
      ]) {
        expect((await ask(origin)).headers.get('access-control-allow-origin')).toBeNull();
      }
      const bob = await other.user('bob');
      const read = await client.send(bob, 'GET', '/api/projects', { headers: { origin: 'https://b.example' } });
      expect(read.headers.get('access-control-allow-origin')).toBe('https://b.example');
      expect(read.headers.get('access-control-expose-headers')).toContain('location');
      // The browser must be able to read error responses.
      const refused = await client.send(undefined, 'GET', '/api/projects', {
        headers: { origin: 'https://b.example' },
      });
      expect(refused.status).toBe(401);
      expect(refused.headers.get('access-control-allow-origin')).toBe('https://b.example');
      const plain = await client.send(undefined, 'OPTIONS', '/api/projects');
      expect(plain.headers.get('allow')).toBe('GET, HEAD, OPTIONS, POST');
    } finally {
      await other.stop();
    }
  });
});
