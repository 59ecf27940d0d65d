import dns from 'node:dns';
import {
  checkEndpointSchema,
  checkL2ForOpenAPI,
  checkL4ForOpenAPI,
  discoverOriginSchema,
  getOpenAPI,
  getWarningsForL2,
  getWarningsForL3,
  getWarningsForL4,
  getWarningsForOpenAPI,
  type OpenApiSource,
  validatePaymentRequiredDetailed,
} from '@agentcash/discovery';
import { extractDiscoveryInfo } from '@x402/extensions/bazaar';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { createShop, decodeHeader, payingFetch, payingFetchV1, type Rails, SELLER, startRails } from '../support.ts';
import { DETAILS } from './support.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
const HOST = 'discovery.test';
const CONTACT = 'help@example.com';
const USER_SCHEMA = {
  path: { type: 'object', properties: { id: { type: 'integer', description: 'The user.' } } },
  headers: { type: 'object', properties: { 'X-Version': { type: 'string', enum: ['2'] } }, required: ['X-Version'] },
};
const TOOL_CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'add', arguments: {} } };
const SECRET = 'kan4ry5upstream5secret';

let rails: Rails;
let app: TestApp;
let upstream: Receiver;
let alice: TestUser;
let shop: Awaited<ReturnType<typeof createShop>>;
/** The project's own host. */
let site: string;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver();
  app = await startTestApp({ env: rails.env });
  alice = await app.user('alice');
  site = `http://${HOST}:${new URL(app.url).port}`;
  // The checkers open their own connections, so this host must resolve like any other host.
  const real = dns.lookup as (...values: unknown[]) => void;
  vi.spyOn(dns, 'lookup').mockImplementation(((name: string, ...rest: unknown[]) =>
    real(name === HOST ? '127.0.0.1' : name, ...rest)) as never);
  shop = await createShop(app, alice, {
    '/plain': { upstreamUrl: `${upstream.url}/${SECRET}` },
    '/weather': { upstreamUrl: `${upstream.url}/now`, description: 'The weather now.', ...details() },
    '/users/:id': { upstreamUrl: `${upstream.url}/people/:id`, inputSchema: USER_SCHEMA },
    '/files/*': { upstreamUrl: `${upstream.url}/files` },
    '/first': { upstreamUrl: `${upstream.url}/first`, settlement: 'BEFORE_REQUEST' },
    '/mcp': { upstreamUrl: `${upstream.url}/mcp`, protocol: 'MCP' },
    '/free': { upstreamUrl: `${upstream.url}/free`, priceUsd: '0' },
  });
  // As stored before methods could be chosen. These endpoints serve every method.
  const sql = new pg.Client(app.databaseUrl);
  await sql.connect();
  await sql.query(`UPDATE "Endpoint" SET methods = '{}' WHERE protocol = 'HTTP'`);
  await sql.end();
  const profile = {
    description: 'Facts.',
    iconUrl: 'https://example.com/icon.png',
    contact: CONTACT,
    gatewayHost: HOST,
  };
  expect(await alice.rest('PATCH', shop.base, profile)).toMatchObject({ status: 200 });
  await vi.waitUntil(async () => (await fetch(`${site}/plain`)).status === 402, { timeout: 60_000 });
});
beforeEach(() => {
  upstream.handle(() => ({ headers: { 'content-type': 'application/json' }, body: '{"sunny":true}' }));
  rails.facilitator.calls.length = 0;
});
afterAll(async () => {
  vi.restoreAllMocks();
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

function details() {
  return { mimeType: 'application/json', tags: ['weather'], ...DETAILS };
}

async function send(path: string, fields: object, method = 'POST') {
  const response = await alice.rest<{ id: string }>(method, `${shop.base}/endpoints${path}`, fields);
  expect(response.status, JSON.stringify(response.body)).toBeLessThan(300);
  return response.body;
}

describe('the public checkers', () => {
  test.each(
    ['/plain', '/weather', '/users/7', '/files/a/b', '/first'].flatMap((path) =>
      METHODS.map((method) => ({ path, method })),
    ),
  )('have no complaints about the 402 response to $method $path', async ({ path, method }) => {
    const response = await fetch(shop.url + path, { method });
    expect(response.status).toBe(402);
    const required = decodeHeader(response.headers.get('payment-required'));
    const { valid, issues, normalized } = validatePaymentRequiredDetailed(required);
    expect({ valid, issues }).toEqual({ valid: true, issues: [] });
    expect(normalized).toMatchObject({ version: 2, hasInputSchema: true, hasOutputSchema: true });
    if (method === 'HEAD') return;
    const body = validatePaymentRequiredDetailed(await response.json());
    // The body contains version 1, for other clients. This checker expects version 2, which is in the header.
    expect(body.issues.map(({ code }) => code)).toEqual(['X402_VERSION_V1_NOT_SUPPORTED']);
  });

  test('have no complaints about the 402 response to a tool call, or the facilitator’s copy of it', async () => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(TOOL_CALL) };
    const response = await fetch(`${shop.url}/mcp`, init);
    expect(response.status).toBe(402);
    const { valid, issues, normalized } = validatePaymentRequiredDetailed(
      decodeHeader(response.headers.get('payment-required')),
    );
    expect({ valid, issues }).toEqual({ valid: true, issues: [] });
    expect(normalized).toMatchObject({ version: 2, hasInputSchema: true });
    upstream.handle(() => ({
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, result: { content: [] } }),
    }));
    expect((await payingFetch(await rails.wallet())(`${shop.url}/mcp`, init)).status).toBe(200);
    for (const { request } of rails.facilitator.calls) {
      const listed = extractDiscoveryInfo(request.paymentPayload as never, request.paymentRequirements as never);
      expect(listed).toMatchObject({ resourceUrl: `${shop.url}/mcp`, method: 'POST' });
    }
    expect(rails.facilitator.calls).toHaveLength(2);
  });

  test.each(['/plain', '/weather', '/users/7', '/files/a', '/first'])(
    'find %s by asking for it with every method, and have no complaints',
    async (path) => {
      const checked = await checkEndpointSchema({ url: shop.url + path, probe: true });
      if (!checked.found) throw new Error(JSON.stringify(checked));
      const paid = checked.advisories.filter(({ method }) => METHODS.includes(method));
      expect(paid.map(({ method }) => method).toSorted()).toEqual(METHODS.toSorted());
      for (const advisory of paid) {
        expect(advisory).toMatchObject({ authMode: 'paid', paymentOptions: [{ amount: '10000', payTo: SELLER }] });
        expect(getWarningsForL3(advisory)).toEqual([]);
      }
    },
  );

  test.each([
    ['the project’s own host', () => ({ origin: site, prefix: '' })],
    ['the gateway’s host', () => ({ origin: shop.url, prefix: new URL(shop.url).pathname })],
  ])('find every operation in the OpenAPI document on %s, and have no complaints', async (_host, place) => {
    const { origin, prefix } = place();
    const source = (await getOpenAPI(origin))._unsafeUnwrap() as OpenApiSource;
    expect(getWarningsForOpenAPI(source)).toEqual([]);
    const l2 = checkL2ForOpenAPI(source);
    expect(getWarningsForL2(l2)).toEqual([]);
    expect(getWarningsForL4(checkL4ForOpenAPI(source))).toEqual([]);
    const paid = ['/plain', '/weather', '/users/{id}', '/files/{rest}', '/first'];
    const routes = [
      ...paid.flatMap((path) => ['GET', 'POST'].map((method) => [method, prefix + path, '0.01 USD'])),
      ['POST', `${prefix}/mcp`, '0.01 USD'],
      ...['GET', 'POST'].map((method) => [method, `${prefix}/free`, undefined]),
    ];
    expect(l2.routes.map(({ method, path, price }) => [method, path, price])).toEqual(routes);
  });

  test('find every operation and its input from the origin of the project’s own host', async () => {
    const found = await discoverOriginSchema({ target: site });
    expect(found).toMatchObject({ found: true, info: { title: 'Shop', description: 'Facts.' } });
    for (const path of ['/plain', '/weather', '/users/7', '/files/a', '/first', '/mcp', '/free']) {
      const checked = await checkEndpointSchema({ url: site + path });
      if (!checked.found) throw new Error(JSON.stringify(checked));
      expect(checked.advisories.map(({ method }) => method)).toEqual(path === '/mcp' ? ['POST'] : ['GET', 'POST']);
      for (const advisory of checked.advisories) {
        const isFree = path === '/free';
        expect(advisory).toMatchObject({ source: 'openapi', authMode: isFree ? 'unprotected' : 'paid' });
        if (!isFree) expect(advisory).toMatchObject({ protocols: ['x402'] });
        expect(getWarningsForL3(advisory)).toEqual([]);
      }
    }
  });
});

test('an agent that knows only the host finds a route it has never heard of, pays for it, and calls it as described', async () => {
  type Parameter = {
    name?: string;
    in?: string;
    required?: boolean;
    schema?: { examples?: string[]; enum?: string[] };
  };
  type Operation = { 'x-payment-info'?: { price: { amount: string } }; tags?: string[]; parameters: Parameter[] };
  const [, guide] = /\((\S+\/openapi\.json)\)/.exec(await (await fetch(`${site}/llms.txt`)).text())!;
  const { servers, paths } = (await (await fetch(guide!)).json()) as {
    servers: [{ url: string }];
    paths: Record<string, Record<string, Operation>>;
  };
  const [path, { get }] = Object.entries(paths).find(([, { get }]) => get?.tags?.includes('weather'))! as [
    string,
    { get: Operation },
  ];
  const needed = get.parameters.filter(({ required }) => required);
  const query = new URLSearchParams(needed.map(({ name, schema }) => [name!, schema!.examples![0]!]));
  const buyer = await rails.wallet(10_000n);
  const response = await payingFetch(buyer)(`${servers[0].url}${path}?${query}`);
  expect([response.status, await response.json()]).toEqual([200, { sunny: true }]);
  expect(upstream.requests.at(-1)).toMatchObject({ method: 'GET', path: '/now?city=Bern' });
  expect(get['x-payment-info']!.price.amount).toBe('0.01');
  expect(await rails.chain.balanceOf(buyer.address)).toBe(0n);
});

describe('a payment', () => {
  test.each([
    ['version 2', payingFetch],
    ['version 1', payingFetchV1],
  ])(
    'tells the facilitator’s catalog how to call the endpoint if it is from a stock %s client',
    async (_version, paying) => {
      const buyer = await rails.wallet();
      for (const method of ['GET', 'POST']) {
        rails.facilitator.calls.length = 0;
        const response = await paying(buyer)(`${shop.url}/weather`, { method });
        expect([response.status, await response.json()]).toEqual([200, { sunny: true }]);
        expect(rails.facilitator.calls.map(({ operation }) => operation)).toEqual(['verify', 'settle']);
        for (const { request } of rails.facilitator.calls) {
          const { paymentPayload, paymentRequirements } = request;
          const listed = extractDiscoveryInfo(paymentPayload as never, paymentRequirements as never);
          expect(listed).toMatchObject({
            resourceUrl: `${shop.url}/weather`,
            description: 'The weather now.',
            mimeType: 'application/json',
            method,
            discoveryInfo: { output: { type: 'json' } },
          });
        }
      }
    },
  );

  test('is cataloged under the template if the path has a placeholder', async () => {
    await payingFetch(await rails.wallet())(`${shop.url}/users/7`);
    const { paymentPayload, paymentRequirements } = rails.facilitator.calls[1]!.request;
    const listed = extractDiscoveryInfo(paymentPayload as never, paymentRequirements as never);
    expect(listed).toMatchObject({
      resourceUrl: `${shop.url}/users/:id`,
      serviceName: 'Shop',
      iconUrl: 'https://example.com/icon.png',
    });
  });

  test('works with the largest schemas and example that an endpoint can have', async () => {
    const query = { type: 'object', properties: {}, description: 'x'.repeat(32_000) };
    const large = { inputSchema: { query }, exampleResponse: { text: 'y'.repeat(32_000) } };
    const { id } = await send('', { path: '/large', upstreamUrl: upstream.url, priceUsd: '0.01', ...large });
    for (const paying of [payingFetch, payingFetchV1]) {
      expect((await paying(await rails.wallet())(`${shop.url}/large`)).status).toBe(200);
    }
    await send(`/${id}`, {}, 'DELETE').catch(() => {});
  });
});

describe('a document about a project', () => {
  const DOCUMENTS = ['/openapi.json', '/.well-known/x402', '/llms.txt'];

  test.each([
    ['under /gateway', () => shop.url],
    ['on its own host', () => site],
  ])('has the URLs of endpoints %s', async (_where, place) => {
    const base = place();
    const get = (path: string) => fetch(base + path);
    const openApi = (await (await get('/openapi.json')).json()) as { servers: object; paths: object };
    expect(openApi.servers).toEqual([{ url: base }]);
    expect(Object.keys(openApi.paths)).toEqual(expect.arrayContaining(['/plain', '/weather', '/users/{id}']));
    expect(await (await get('/.well-known/x402')).json()).toEqual({
      version: 1,
      resources: expect.arrayContaining([`${base}/plain`, `${base}/weather`, `${base}/users/:id`]),
    });
    const llms = await get('/llms.txt');
    expect(llms.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(await llms.text()).toContain(
      `- [GET, POST /weather](${base}/weather): The weather now. 0.01 USD per request.`,
    );
  });

  test.each(DOCUMENTS)('%s doesn’t reveal an upstream, an ID, or the wallet', async (path) => {
    const text = await (await fetch(site + path)).text();
    for (const hidden of [SECRET, upstream.url, new URL(upstream.url).host, SELLER, shop.projectId, 'ep_']) {
      expect(text).not.toContain(hidden);
    }
  });

  test.each(DOCUMENTS)('%s can be cached, read from any web page, and requested with HEAD', async (path) => {
    const first = await fetch(shop.url + path);
    const etag = first.headers.get('etag')!;
    expect(first.status).toBe(200);
    expect(first.headers.get('cache-control')).toBe('public, max-age=60');
    expect(first.headers.get('access-control-allow-origin')).toBe('*');
    const again = await fetch(shop.url + path, { headers: { 'if-none-match': `"other", W/${etag}` } });
    expect([again.status, again.headers.get('etag'), await again.text()]).toEqual([304, etag, '']);
    const head = await fetch(shop.url + path, { method: 'HEAD' });
    expect([head.status, head.headers.get('etag'), await head.text()]).toEqual([200, etag, '']);
    expect((await fetch(shop.url + path, { method: 'POST' })).status).toBe(404);
  });

  test('shows changes immediately, and only active endpoints', async () => {
    const paths = async () => {
      const { paths } = (await (await fetch(`${shop.url}/openapi.json`)).json()) as { paths: Record<string, object> };
      return Object.keys(paths);
    };
    const { id } = await send('', { path: '/new', upstreamUrl: upstream.url, priceUsd: '0.01' });
    expect(await paths()).toContain('/new');
    await send(`/${id}`, { exampleResponse: { second: 2 } }, 'PATCH');
    expect(await (await fetch(`${shop.url}/openapi.json`)).text()).toContain('"second":2');
    const unpaid = async () => JSON.stringify(await (await fetch(`${shop.url}/new`)).json());
    expect(await unpaid()).toContain('"second":2');
    await send(`/${id}`, { exampleResponse: { third: 3 } }, 'PATCH');
    expect(await unpaid()).toContain('"third":3');
    await send(`/${id}`, { isActive: false }, 'PATCH');
    expect(await paths()).not.toContain('/new');
  });

  test('is replaced by an active endpoint at the same path', async () => {
    for (const path of DOCUMENTS) {
      const { id } = await send('', { path, upstreamUrl: upstream.url, priceUsd: '0.01' });
      expect((await fetch(shop.url + path)).status).toBe(402);
      await send(`/${id}`, { isActive: false }, 'PATCH');
      expect((await fetch(shop.url + path)).status).toBe(200);
    }
  });

  test('doesn’t exist for an unknown project, a project without active endpoints, or another project’s endpoints', async () => {
    const other = await createShop(app, await app.user('bob'), {});
    const base = shop.url.slice(0, -shop.projectId.length);
    for (const path of DOCUMENTS) {
      expect((await fetch(`${other.url}${path}`)).status).toBe(404);
      expect((await fetch(`${base}proj_01jc9x2v5qe3w8k4m6n7p9r0st${path}`)).status).toBe(404);
      expect((await fetch(`${base}nothing${path}`)).status).toBe(404);
    }
    const bobs = await createShop(app, await app.user('bob'), { '/bobs': { upstreamUrl: upstream.url } });
    const text = await (await fetch(`${bobs.url}/openapi.json`)).text();
    expect(text).toContain('/bobs');
    expect(text).not.toContain('/weather');
  });

  test('is free, even if the request includes a payment', async () => {
    const buyer = await rails.wallet(10_000n);
    const response = await fetch(`${shop.url}/openapi.json`, { headers: { 'payment-signature': 'e30=' } });
    expect(response.status).toBe(200);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(10_000n);
  });
});
