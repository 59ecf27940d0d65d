import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rawRequest } from '../gateway/sign.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { freePort } from '../support/free-port.ts';
import { sendRaw } from '../support/raw-http.ts';

/** The URLs of the servers in the document, for a request with these header lines. */
async function serversFor({ url }: Pick<TestApp, 'url'>, ...headers: string[]) {
  const [response] = await sendRaw(url, [rawRequest('GET /api/openapi.json', ...headers)]);
  if (response!.status !== 200) return response!.status;
  const { servers } = JSON.parse(response!.text) as { servers: { url: string }[] };
  return servers.map((server) => server.url);
}

describe('without PUBLIC_URL, the server in the OpenAPI document', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp({ env: { ROLES: 'api' } });
  });
  afterAll(() => app?.stop());

  test('is the origin of the request', async () => {
    const { servers } = (await (await fetch(`${app.url}/api/openapi.json`)).json()) as { servers: unknown };
    expect(servers).toEqual([{ url: app.url }]);
  });

  test('is never that of an earlier request', async () => {
    expect(await serversFor(app, 'Host: evil.example')).toEqual(['http://evil.example']);
    expect(await serversFor(app, 'Host: api.example:8443')).toEqual(['http://api.example:8443']);
    const { headers } = await fetch(`${app.url}/api/openapi.json`);
    expect(headers.get('cache-control')).toBe('no-store');
  });

  test('is not what headers of a stranger claim', async () => {
    const claims = ['X-Forwarded-Host: evil.example', 'X-Forwarded-Proto: https', 'Forwarded: host=evil.example'];
    expect(await serversFor(app, 'Host: api.example', ...claims)).toEqual(['http://api.example']);
  });

  test.each(['', 'a"b', '<b>', 'a.example/path', 'user@a.example', 'a.example:99999'])(
    'is never made from an invalid host: %j',
    async (host) => {
      expect(await serversFor(app, `Host: ${host}`)).toBe(400);
    },
  );
});

test('behind a trusted proxy, the server is the one that the client requested', async () => {
  const app = await startTestApp({ env: { ROLES: 'api', TRUSTED_PROXIES: '127.0.0.1' } });
  try {
    const forwarded = ['X-Forwarded-For: 203.0.113.9', 'X-Forwarded-Host: api.example', 'X-Forwarded-Proto: https'];
    expect(await serversFor(app, 'Host: 10.0.0.7:4000', ...forwarded)).toEqual(['https://api.example']);
    const odd = forwarded.with(2, 'X-Forwarded-Proto: javascript');
    expect(await serversFor(app, 'Host: 10.0.0.7:4000', ...odd)).toEqual(['http://api.example']);
  } finally {
    await app.stop();
  }
});

test('with PUBLIC_URL, it is always that', async () => {
  const port = await freePort();
  const app = await startTestApp({
    env: { ROLES: 'api', PORT: String(port), PUBLIC_URL: 'https://tollgate.example/', TRUSTED_PROXIES: '127.0.0.1' },
  });
  try {
    const headers = ['Host: evil.example', 'X-Forwarded-For: 203.0.113.9', 'X-Forwarded-Host: evil.example'];
    const url = `http://127.0.0.1:${port}`;
    expect(await serversFor({ url }, ...headers)).toEqual(['https://tollgate.example']);
    const compressed = await fetch(`${url}/api/openapi.json`);
    expect(compressed.headers.get('content-encoding')).toBe('gzip');
    expect(compressed.headers.get('vary')).toBe('accept-encoding');
    expect(await compressed.json()).toMatchObject({ servers: [{ url: 'https://tollgate.example' }] });
    const etag = compressed.headers.get('etag')!;
    const unchanged = await fetch(`${url}/api/openapi.json`, { headers: { 'if-none-match': etag } });
    expect(unchanged.status).toBe(304);
  } finally {
    await app.stop();
  }
});

test('docs/openapi.json has the address of a development server', async () => {
  const document = JSON.parse(await readFile('docs/openapi.json', 'utf8')) as { servers: unknown };
  expect(document.servers).toEqual([{ url: 'http://127.0.0.1:4000' }]);
});
