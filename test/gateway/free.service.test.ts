import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import fc from 'fast-check';
import pg from 'pg';
import { request } from 'undici';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { freePort } from '../support/free-port.ts';
import { metricValue, readMetrics } from '../support/metrics.ts';
import { sendRaw } from '../support/raw-http.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway-processes.ts';
import { hostileRequest, isLast, MARK, PASSED, valuesOf } from './hostile-headers.ts';
import { sign, v1Headers, v2Headers } from './sign.ts';
import { createShop, decodeHeader, payingFetch, type Rails, startRails } from './support.ts';

let rails: Rails;
let app: TestApp;
let upstream: Receiver;
let alice: TestUser;
let shop: Awaited<ReturnType<typeof createShop>>;
let database: pg.Client;
let rateLimitNow = () => performance.now();

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver();
  // Terms are remembered only if the service knows its public URL.
  const port = await freePort();
  app = await startTestApp({
    env: { ...rails.env, PORT: String(port), PUBLIC_URL: `http://127.0.0.1:${port}` },
    rateLimitNow: () => rateLimitNow(),
  });
  database = new pg.Client({ connectionString: app.databaseUrl });
  await database.connect();
  alice = await app.user('alice');
});

// Limits apply per project, so every test has its own project.
beforeEach(async () => {
  shop = await createShop(app, alice, {
    '/free': { upstreamUrl: `${upstream.url}/free`, priceUsd: '0' },
    '/stream': { upstreamUrl: `${upstream.url}/stream`, priceUsd: '0', settlement: 'BEFORE_REQUEST' },
    '/paid': { upstreamUrl: `${upstream.url}/paid` },
  });
  upstream.requests.length = 0;
  upstream.handle(() => ({ headers: { 'x-of': 'api', 'set-cookie': 'a=b' }, body: 'served' }));
  rails.facilitator.misbehave('settle', undefined);
});

afterAll(async () => {
  await database?.end();
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

async function rowsIn(table: 'Payment' | 'Customer') {
  const { rows } = await database.query(`SELECT count(*)::int FROM "${table}" WHERE "projectId" = $1`, [
    shop.projectId,
  ]);
  return rows[0].count;
}
const setPrice = (path: string, priceUsd: string) =>
  alice.rest('PATCH', `${shop.base}/endpoints/${shop.ids[path]}`, { priceUsd });
const statusOf = async (path: string) => (await fetch(shop.url + path)).status;

describe('a request for a free endpoint', () => {
  test('is served without a payment, and nothing is recorded', async () => {
    const answer = await fetch(`${shop.url}/free?city=Bern`);
    expect([answer.status, await answer.text(), answer.headers.get('x-of')]).toEqual([200, 'served', 'api']);
    for (const name of ['payment-required', 'payment-response', 'tollgate-payment-id', 'set-cookie'])
      expect(answer.headers.has(name), name).toBe(false);
    expect(answer.headers.get('content-security-policy')).toBe('sandbox');
    expect(upstream.requests.map(({ path }) => path)).toEqual(['/free?city=Bern']);
    expect([await rowsIn('Payment'), await rowsIn('Customer')]).toEqual([0, 0]);
  });

  test("doesn't use the connections that paid requests or other accounts' requests to the same API need", async () => {
    const bob = await app.user('bob');
    const { url } = await createShop(app, bob, { '/free': { upstreamUrl: `${upstream.url}/free`, priceUsd: '0' } });
    const ports: (number | undefined)[] = [];
    upstream.handle((_request, { socket }) => {
      ports.push(socket?.remotePort);
      return {};
    });
    for (const target of [`${shop.url}/free`, `${shop.url}/free`, `${url}/free`])
      expect((await fetch(target)).status).toBe(200);
    expect((await payingFetch(await rails.wallet(10_000n))(`${shop.url}/paid`)).status).toBe(200);
    const [first, second, ...others] = ports;
    expect(second).toBe(first);
    expect(new Set([first, ...others]).size).toBe(3);
  });

  test('reaches the API and comes back byte for byte', async () => {
    const sent = randomBytes(2_000_000);
    upstream.handle(({ body }) => ({ statusCode: 201, body: Buffer.from(body).reverse() }));
    const body = new ReadableStream({
      start(controller) {
        for (let at = 0; at < sent.length; at += 70_001) controller.enqueue(sent.subarray(at, at + 70_001));
        controller.close();
      },
    });
    const answer = await fetch(`${shop.url}/free`, { method: 'POST', body, duplex: 'half' } as RequestInit);
    expect(answer.status).toBe(201);
    expect(
      Buffer.from(await answer.arrayBuffer())
        .reverse()
        .equals(sent),
    ).toBe(true);
  });

  test('cannot forge what the gateway tells APIs, and gets no proof of a payment', async () => {
    const headers = {
      'tollgate-payment-id': 'pay_1',
      'tollgate-payer': '0x1',
      'tollgate-signature': 'v1,x',
      'x-forwarded-for': '203.0.113.9',
      'x-webauth-user': 'admin',
      'x-payment': 'x',
      cookie: 'session=1',
      authorization: 'Bearer x',
      accept: 'text/plain',
    };
    expect((await fetch(`${shop.url}/free`, { headers })).status).toBe(200);
    const received = upstream.requests[0]!.headers;
    expect(Object.keys(received).filter((name) => /tollgate|payment|webauth|cookie|authorization/.test(name))).toEqual(
      [],
    );
    expect(received).toMatchObject({ accept: 'text/plain', 'x-forwarded-for': '127.0.0.1' });
  });

  test('gets the headers if it uses HEAD', async () => {
    upstream.handle(() => ({ headers: { 'content-length': '1234' } }));
    const answer = await fetch(`${shop.url}/free`, { method: 'HEAD' });
    expect([answer.status, answer.headers.get('content-length')]).toEqual([200, '1234']);
  });

  test('is rejected if it has a query parameter that the seller sets, or an ambiguous path', async () => {
    await alice.rest('PATCH', `${shop.base}/endpoints/${shop.ids['/free']}`, {
      upstreamUrl: `${upstream.url}/f?key=k`,
    });
    await expect.poll(() => statusOf('/free?key=mine')).toBe(400);
    expect(await statusOf('/free/..%2fpaid')).toBe(400);
    expect(await statusOf('/free')).toBe(200);
  });

  // An API may send Latin-1 or UTF-8.
  test.each(['/free', '/stream'])('gets the same bytes in headers that the API sent: %s', async (path) => {
    const value = 'caf\xe9 ' + Buffer.from('café').toString('latin1');
    upstream.handle(() => ({ headers: { 'x-name': value, 'content-type': 'text/plain' }, body: 'served' }));
    // undici reads and writes header values as Latin-1.
    const answer = await request(shop.url + path);
    await answer.body.dump();
    expect(answer.headers['x-name']).toBe(value);
  });

  test.each([
    ['its own error', { statusCode: 404, body: 'no' }, 404],
    ['a 402 of its own', { statusCode: 402, headers: { 'payment-required': 'x' } }, 502],
    ['a redirect', { statusCode: 302, headers: { location: 'https://elsewhere.example' } }, 502],
    ['too much', { body: Buffer.alloc(10 * 1024 * 1024 + 1) }, 502],
  ])('is handled if the API sends %s', async (_what, answer, status) => {
    upstream.handle(() => answer);
    const received = await fetch(`${shop.url}/free`);
    expect([received.status, received.headers.has('payment-required')]).toEqual([status, false]);
    if (status === 502) expect(await received.json()).toMatchObject({ code: 'UPSTREAM_FAILED' });
  });

  test('is limited to 60 a minute from one address across all processes, unlike a paid endpoint', async () => {
    const processes = await Promise.all([1, 2].map(() => startGatewayProcess(app, rails)));
    try {
      const startedAt = performance.now();
      const ask = ({ url }: GatewayProcess, path: string) => fetch(`${url}/gateway/${shop.projectId}${path}`);
      let served = 0;
      const refused: Response[] = [];
      while (refused.length === 0 && served < 300) {
        const answers = await Promise.all([...processes, ...processes, ...processes].map((one) => ask(one, '/free')));
        served += answers.filter(({ status }) => status === 200).length;
        refused.push(...answers.filter(({ status }) => status !== 200));
      }
      const seconds = (performance.now() - startedAt) / 1000;
      expect(served).toBeGreaterThanOrEqual(60);
      expect(served).toBeLessThanOrEqual(61 + seconds);
      expect(refused[0]!.status).toBe(429);
      expect(Number(refused[0]!.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(await refused[0]!.json()).toMatchObject({
        code: 'RATE_LIMITED',
        detail: expect.stringContaining('free requests'),
      });
      expect(upstream.requests).toHaveLength(served);
      expect((await ask(processes[0]!, '/paid')).status).toBe(402);
    } finally {
      await Promise.all(processes.map((one) => one.end('SIGTERM')));
    }
  });

  test('gets the response while the API is still sending it, if the endpoint would charge first', async () => {
    const responding = Promise.withResolvers<ServerResponse>();
    upstream.handle((_request, response) => void responding.resolve(response));
    const asking = fetch(`${shop.url}/stream`, { method: 'POST', body: 'order' });
    const response = await responding.promise;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: 1\n\n');
    const answer = await asking;
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader.read()).value).toBe('data: 1\n\n');
    response.end('data: 2\n\n');
    expect((await reader.read()).value).toBe('data: 2\n\n');
    expect((await reader.read()).done).toBe(true);
    expect(upstream.requests[0]!.body.toString()).toBe('order');
  });

  test.each([
    ['its own error', { statusCode: 404, body: 'no' }, 404],
    ['a 402 of its own', { statusCode: 402, headers: { 'payment-required': 'x' } }, 502],
  ])('gets %s from an API that streams its response', async (_what, answer, status) => {
    upstream.handle(() => answer);
    const received = await fetch(`${shop.url}/stream`);
    expect([received.status, received.headers.has('payment-required')]).toEqual([status, false]);
  });

  test.each(['/free', '/stream'])('ends its call to the API when the client disconnects: %s', async (path) => {
    const called = Promise.withResolvers<ServerResponse>();
    upstream.handle((_request, response) => void called.resolve(response));
    const leaving = new AbortController();
    const asking = fetch(shop.url + path, { signal: leaving.signal }).catch(() => 'gone');
    const response = await called.promise;
    leaving.abort();
    expect(await asking).toBe('gone');
    // Less than the call's time limit of 60 seconds.
    await expect.poll(() => response.destroyed, { timeout: 50_000 }).toBe(true);
  });

  test('is counted in the metrics', async () => {
    const count = async (outcome: string) =>
      metricValue(await readMetrics(app.url), 'tollgate_free_requests_total', { outcome });
    const [served, failed] = [await count('served'), await count('failed')];
    await fetch(`${shop.url}/free`);
    upstream.handle(() => ({ statusCode: 302 }));
    await fetch(`${shop.url}/free`);
    expect([await count('served'), await count('failed')]).toEqual([served + 1, failed + 1]);
  });
});

describe('a payment for a free endpoint', () => {
  test("isn't asked for, so the stock client pays nothing", async () => {
    const buyer = await rails.wallet(10_000n);
    expect((await payingFetch(buyer)(`${shop.url}/free`)).status).toBe(200);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(10_000n);
  });

  test('is ignored and stays unused, so it can pay for another request', async () => {
    const buyer = await rails.wallet(10_000n);
    const headers = v2Headers(await sign(buyer));
    const answer = await fetch(`${shop.url}/free`, { headers });
    expect([answer.status, await answer.text()]).toEqual([200, 'served']);
    expect(await rowsIn('Payment')).toBe(0);
    expect((await fetch(`${shop.url}/paid`, { headers })).status).toBe(200);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(0n);
  });

  test.each([
    ['malformed', { 'payment-signature': '!' }],
    ['of an unknown scheme', { 'x-payment': Buffer.from('{"x402Version":1,"scheme":"upto"}').toString('base64') }],
    ['in both versions', { ...v1Headers({}), ...v2Headers({}) }],
  ])('is ignored even if it is %s', async (_what, headers) => {
    expect((await fetch(`${shop.url}/free`, { headers: headers as Record<string, string> })).status).toBe(200);
  });
});

describe('an endpoint that becomes free', () => {
  const becomeFree = async () => {
    await setPrice('/paid', '0');
    await expect.poll(() => statusOf('/paid')).toBe(200);
    upstream.requests.length = 0;
  };

  test('no longer sends remembered terms, and charges nothing for a payment at the old price', async () => {
    const buyer = await rails.wallet(10_000n);
    for (let round = 0; round < 3; round++) expect(await statusOf('/paid')).toBe(402);
    const headers = v2Headers(await sign(buyer));
    await becomeFree();
    expect((await fetch(`${shop.url}/paid`, { headers })).status).toBe(200);
    expect(await rowsIn('Payment')).toBe(0);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(10_000n);
  });

  test('returns the same response again for a payment that was settled before, without calling the API', async () => {
    const headers = v2Headers(await sign(await rails.wallet()));
    upstream.handle(() => ({ body: 'paid for' }));
    const first = await fetch(`${shop.url}/paid`, { method: 'POST', body: 'order', headers });
    await becomeFree();
    const again = await fetch(`${shop.url}/paid`, { method: 'POST', body: 'order', headers });
    expect([again.status, await again.text()]).toEqual([200, 'paid for']);
    expect(again.headers.get('tollgate-payment-id')).toBe(first.headers.get('tollgate-payment-id'));
    expect(upstream.requests).toEqual([]);
  });

  test('returns that response even to an address that has used up its free requests', async () => {
    const headers = v2Headers(await sign(await rails.wallet()));
    upstream.handle(() => ({ body: 'paid for' }));
    expect((await fetch(`${shop.url}/paid`, { headers })).status).toBe(200);
    await becomeFree();
    // The limit refills by one request per second, which a slow machine may take for each.
    const frozenAt = performance.now();
    rateLimitNow = () => frozenAt;
    await expect.poll(() => statusOf('/paid'), { interval: 0 }).toBe(429);
    const again = await fetch(`${shop.url}/paid`, { headers });
    expect([again.status, await again.text()]).toEqual([200, 'paid for']);
    rateLimitNow = () => performance.now();
  });

  test('serves a request with a payment that failed before', async () => {
    const headers = v2Headers(await sign(await rails.wallet()));
    upstream.handle(() => ({ statusCode: 500 }));
    expect((await fetch(`${shop.url}/paid`, { method: 'POST', body: 'order', headers })).status).toBe(500);
    upstream.handle(() => ({ body: 'served' }));
    await becomeFree();
    const again = await fetch(`${shop.url}/paid`, { method: 'POST', body: 'order', headers });
    expect([again.status, await again.text()]).toEqual([200, 'served']);
    expect(upstream.requests[0]!.body.toString()).toBe('order');
  });
});

describe('a free endpoint that gets a price', () => {
  test('requires payment immediately, and does not accept a payment of zero', async () => {
    expect(await statusOf('/free')).toBe(200);
    await setPrice('/free', '0.01');
    await expect.poll(() => statusOf('/free')).toBe(402);
    const buyer = await rails.wallet(10_000n);
    const nothing = await fetch(`${shop.url}/free`, { headers: v2Headers(await sign(buyer, { value: '0' })) });
    expect(nothing.status).toBe(402);
    const { error } = decodeHeader<{ error: string }>(nothing.headers.get('payment-required'));
    expect(error).toBe('invalid_exact_evm_payload_authorization_value_mismatch');
    upstream.requests.length = 0;
    expect((await fetch(`${shop.url}/free`, { headers: v2Headers(await sign(buyer)) })).status).toBe(200);
    expect(upstream.requests).toHaveLength(1);
  });
});

describe('any headers that a client could send', () => {
  /** Whether a header has the only value that was sent, or is absent if none was. Several are combined or left out. */
  const mayBe = (sent: string[]) => (received: string | string[] | undefined) =>
    sent.length > 1 ? received !== undefined : received === sent[0];
  /** For a longer run: `FUZZ_RUNS=100000 npx vitest run test/gateway/free -t 'any headers'`. */
  const numRuns = Number(process.env.FUZZ_RUNS ?? 100);
  /** Repeats a run. fast-check prints the seed of a run that fails. */
  const seed = process.env.FUZZ_SEED === undefined ? {} : { seed: Number(process.env.FUZZ_SEED) };

  test(
    'get a response that says whether they are valid, and only safe ones reach the API',
    async () => {
      const { origin, pathname: prefix, host } = new URL(shop.url);
      const smuggled = `GET ${prefix}/free?smuggled HTTP/1.1\r\nHost: a\r\n\r\n`;
      const last = `GET ${prefix}/free?last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
      const known = new Set<string>([
        ...[...PASSED, 'host', 'connection', 'content-length', 'transfer-encoding', 'accept-encoding'],
        ...['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'],
      ]);
      let elapsedMilliseconds = 0;
      // Each request finds an unused limit.
      rateLimitNow = () => performance.now() + elapsedMilliseconds;
      upstream.handle(() => ({ body: 'served' }));
      const property = fc.asyncProperty(hostileRequest(smuggled), async ({ path, lines, body, kind }) => {
        const isValid = kind === 'valid';
        elapsedMilliseconds += 60_000;
        upstream.requests.length = 0;
        const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
        // Clients must not send anything after a request with `Connection: close`.
        const next = isLast(lines) ? '' : last;
        const bytes = Buffer.from(`POST ${prefix}${path} HTTP/1.1\r\n${head}\r\n${body}${next}`, 'latin1');
        // Reads until the server closes the connection. It may reset one on which it can't find the end of a request.
        const answers = await sendRaw(origin, [bytes], 3).catch((error) => (isValid ? Promise.reject(error) : []));
        const statuses = answers.map(({ status }) => status).filter((status) => status >= 200);

        const isPaying = lines.some(([name, value]) => /^(?:payment-signature|x-payment)$/i.test(name) && value.trim());
        const expected = path === '/free' ? [200] : isPaying ? [400, 402] : [402];
        const failed = [400, 431, undefined, ...(path === '/paid' ? [402] : [])];
        expect({ valid: expected, long: [...expected, ...failed], broken: failed }[kind]).toContain(statuses[0]);
        expect([undefined, 200]).toContain(statuses[1]);
        const forwarded = upstream.requests.filter((request) => request.path !== '/free?last');
        expect(forwarded.map((request) => request.path)).toEqual(statuses[0] === 200 ? ['/free'] : []);
        for (const { headers, body: received } of forwarded) {
          expect(headers).toMatchObject({
            host: new URL(upstream.url).host,
            'accept-encoding': 'identity',
            'x-forwarded-for': '127.0.0.1',
            'x-forwarded-host': host,
            'x-forwarded-proto': 'http',
          });
          expect(Object.keys(headers).filter((name) => !known.has(name))).toEqual([]);
          expect(JSON.stringify(headers)).not.toContain(MARK);
          expect(received.toString()).toBe(body === '' ? '' : smuggled);
          for (const name of isValid ? PASSED : []) expect(headers[name], name).toSatisfy(mayBe(valuesOf(lines, name)));
        }
      });
      await fc.assert(property, { numRuns, ...seed });
      expect(await statusOf('/free')).toBe(200);
    },
    180_000 + numRuns * 100,
  );
});

test('the events of a free endpoint have the price 0', async () => {
  await setPrice('/paid', '0');
  await setPrice('/free', '0.5');
  const { body } = await alice.rest<{ data: { type: string; data: Record<string, string> }[] }>(
    'GET',
    `${shop.base}/events`,
  );
  const prices = body.data.map(({ type, data }) => `${type} ${data.previousPriceUsd ?? ''} ${data.priceUsd}`);
  expect(prices.toReversed()).toEqual([
    'endpoint.created  0',
    'endpoint.created  0',
    'endpoint.created  0.01',
    'endpoint.pricing_changed 0.01 0',
    'endpoint.pricing_changed 0 0.5',
  ]);
});
