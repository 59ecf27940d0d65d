import { connect } from 'node:net';
import { Webhook } from 'standardwebhooks';
import type { PrivateKeyAccount } from 'viem/accounts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { sign, v2Headers } from '../sign.ts';
import { createShop, type Rails, startRails } from '../support.ts';

let rails: Rails;
let app: TestApp;
let alice: TestUser;
let upstream: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;
let buyer: PrivateKeyAccount;
let prefix: string;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver();
  app = await startTestApp({ env: rails.env });
  alice = await app.user('alice');
  shop = await createShop(app, alice, {
    '/weather': { upstreamUrl: `${upstream.url}/now` },
    '/files/*': { upstreamUrl: `${upstream.url}/files` },
    '/custom': { upstreamUrl: `${upstream.url}/now`, forwardedHeaders: ['X-Custom', 'authorization', 'x-hop'] },
    '/keyed': { upstreamUrl: `${upstream.url}/keyed?key=of-the-seller` },
  });
  prefix = new URL(shop.url).pathname;
  buyer = await rails.wallet(100_000_000n);
});

beforeEach(() => {
  upstream.requests.length = 0;
  upstream.handle(() => ({ body: 'served' }));
});

afterAll(async () => {
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

const pay = async () => v2Headers(await sign(buyer));
const paymentLine = async () => `PAYMENT-SIGNATURE: ${(await pay())['payment-signature']}`;

/** The last request on a connection. By the time it gets its response, the server has responded to everything else. */
const LAST_REQUEST = 'GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';

/**
 * Sends raw bytes and, if the server still keeps the connection open after `answers` responses, the last request.
 * Returns everything that the server has sent, except for the response to the last request.
 */
function exchange(text: string, answers = 1): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1', () => socket.write(text, 'latin1'));
  let received = '';
  let isAnswered = false;
  socket.setTimeout(60_000, () => socket.destroy(new Error(`The response did not end: ${received}`)));
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
    const complete = [...received.matchAll(/HTTP\/1\.1 \d{3}[\s\S]*?\r\n\r\n/g)].filter(
      ([head]) => !/^HTTP\/1\.1 100/.test(head),
    );
    if (isAnswered || complete.length < answers) return;
    isAnswered = true;
    socket.write(LAST_REQUEST);
  });
  // Writing fails if the server has closed the connection.
  socket.on('error', (error) => isAnswered || reject(error));
  socket.on('close', () => {
    const lastHead = received.lastIndexOf('HTTP/1.1 ');
    const isOfLastRequest = /^HTTP\/1\.1 200 [\s\S]*?\r\nconnection: close\r\n/i.test(received.slice(lastHead));
    resolve(isOfLastRequest ? received.slice(0, lastHead) : received);
  });
  return promise;
}

/** The status of a wallet's only payment. */
async function statusOf(payer: string): Promise<string | undefined> {
  const payments = await alice.rest<{ data: { payer: string; status: string }[] }>('GET', `${shop.base}/payments`);
  return payments.body.data.find((payment) => payment.payer === payer)?.status;
}

const statusesOf = (received: string) =>
  [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));

describe('an ambiguous request', () => {
  const line = (target: string) => `GET ${target} HTTP/1.1`;
  const targets: [string, (prefix: string) => string, number][] = [
    ['a dot segment', (p) => `${p}/files/../weather`, 400],
    ['an encoded dot segment', (p) => `${p}/files/%2e%2e/weather`, 400],
    ['an encoded slash', (p) => `${p}/files/..%2fweather`, 400],
    ['a double-encoded slash', (p) => `${p}/files/..%252fweather`, 400],
    ['dots with a parameter', (p) => `${p}/files/..;/weather`, 400],
    ['a backslash', (p) => `${p}/files/..\\weather`, 400],
    ['an encoded backslash', (p) => `${p}/files/..%5cweather`, 400],
    ['an empty segment', (p) => `${p}/files//weather`, 400],
    ['a leading empty segment', (p) => `${p}//weather`, 400],
    ['a null byte', (p) => `${p}/files/%00`, 400],
    ['a line break', (p) => `${p}/files/%0d%0aX:%20y`, 400],
    ['a malformed escape', (p) => `${p}/files/%zz`, 400],
    ['an overlong dot', (p) => `${p}/files/%c0%ae%c0%ae/x`, 400],
    ['a fragment', (p) => `${p}/files/a#b`, 400],
    ['a raw byte', (p) => `${p}/files/caf\xe9`, 400],
    ['a path that leaves the prefix', () => '/gateway/../api/projects', 404],
    ['an encoded path that leaves the prefix', () => '/gateway/%2e%2e/api/projects', 404],
    ['no project', () => '/gateway//weather', 404],
    ['an unknown project', () => '/gateway/proj_x/weather', 404],
    ["a parameter that is the seller's", (p) => `${p}/keyed?key=mine`, 400],
    ["a parameter that is the seller's, encoded", (p) => `${p}/keyed?%6bey=mine`, 400],
  ];
  test.each(targets)('is rejected if it has %s, with or without a payment', async (_what, target, status) => {
    const head = `${line(target(prefix))}\r\nHost: a\r\n`;
    expect(statusesOf(await exchange(`${head}\r\n`))).toEqual([status]);
    expect(statusesOf(await exchange(`${head}${await paymentLine()}\r\n\r\n`))).toEqual([status]);
    expect(upstream.requests).toHaveLength(0);
  });

  const body = 'POST /x HTTP/1.1\r\nHost: a\r\n\r\n';
  const framings: [string, string[], string][] = [
    ['both lengths', ['Content-Length: 4', 'Transfer-Encoding: chunked'], `0\r\n\r\n${body}`],
    ['two lengths', ['Content-Length: 4', 'Content-Length: 5'], 'abcde'],
    ['a list of lengths', ['Content-Length: 4, 4'], 'abcd'],
    ['a signed length', ['Content-Length: +4'], 'abcd'],
    ['a length in hex', ['Content-Length: 0x4'], 'abcd'],
    ['an unknown coding', ['Transfer-Encoding: chunked, identity'], '0\r\n\r\n'],
    ['a misspelled coding', ['Transfer-Encoding: xchunked'], '0\r\n\r\n'],
    ["a coding that isn't passed on to the upstream", ['Transfer-Encoding: gzip, chunked'], '0\r\n\r\n'],
    ['a space before the colon', ['Transfer-Encoding : chunked'], '0\r\n\r\n'],
    ['a folded header', ['X-Folded: a', ' b'], ''],
    ['a bare line feed', ['X-Bare: a\nX-Injected: b'], ''],
    ['an invalid chunk size', ['Transfer-Encoding: chunked'], 'zz\r\nabcd\r\n0\r\n\r\n'],
    ['two hosts', ['Host: b'], ''],
    ['a null byte in a header', ['X-Null: a\0b'], ''],
  ];
  test.each(framings)('is rejected if it has %s, and never reaches an upstream', async (_what, headers, rest) => {
    const head = [`POST ${prefix}/weather HTTP/1.1`, 'Host: a', await paymentLine(), ...headers].join('\r\n');
    const received = await exchange(`${head}\r\n\r\n${rest}`);
    expect(statusesOf(received)).toEqual([400]);
    expect(upstream.requests).toHaveLength(0);
  });

  test('reaches the upstream exactly once if it is in a pipeline', async () => {
    const requests = await Promise.all(
      [1, 2, 3].map(
        async (n) =>
          `POST ${prefix}/weather?n=${n} HTTP/1.1\r\nHost: a\r\n${await paymentLine()}\r\nContent-Length: 3\r\n\r\nb-${n}`,
      ),
    );
    const received = await exchange(requests.join(''), 3);
    expect(statusesOf(received)).toEqual([200, 200, 200]);
    expect(upstream.requests.map(({ path, body: sent }) => `${path} ${sent}`).sort()).toEqual([
      '/now?n=1 b-1',
      '/now?n=2 b-2',
      '/now?n=3 b-3',
    ]);
  });
});

describe('the headers for the upstream', () => {
  test('describe the content, but nothing in them authenticates, routes, or pays', async () => {
    const withheld = {
      authorization: 'Bearer tg_live_secret',
      cookie: 'session=1',
      'proxy-authorization': 'Basic x',
      'x-api-key': 'k',
      'x-payment-token': 't',
      'x-auth-token': 't',
      'x-original-url': '/admin',
      'x-rewrite-url': '/admin',
      'x-http-method-override': 'DELETE',
      'x-forwarded-for': '10.0.0.1',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'gopher',
      'x-forwarded-prefix': '/p',
      'x-real-ip': '10.0.0.1',
      // Servers that turn header names into variables (CGI, WSGI, PHP) treat these like the ones above.
      'x-real_ip': '10.0.0.1',
      'x-http_method_override': 'DELETE',
      'x-http.method.override': 'DELETE',
      'x-original_url': '/admin',
      x_forwarded_for: '10.0.0.1',
      forwarded: 'for=10.0.0.1',
      via: '1.1 x',
      te: 'trailers',
      'keep-alive': 'timeout=5',
      'proxy-connection': 'keep-alive',
      'tollgate-payer': '0x0000000000000000000000000000000000000000',
      'tollgate-payment-id': 'pay_forged',
      'tollgate-signature': 'v1,forged',
      'sec-fetch-mode': 'cors',
      origin: 'https://page.example',
      referer: 'https://page.example/secret',
      'x-hop': 'named in Connection',
      'x-custom': 'not listed by the endpoint',
      'cf-connecting-ip': '10.0.0.1',
      'fly-client-ip': '10.0.0.1',
    };
    const passed = {
      accept: 'application/json',
      'accept-language': 'de',
      'content-type': 'application/json',
      'idempotency-key': 'k-1',
      'if-none-match': '"e"',
      range: 'bytes=0-1',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      'user-agent': 'test',
      'x-requested-with': 'fetch',
      'x-request-id': 'request-1',
    };
    const lines = Object.entries({ ...withheld, ...passed, connection: 'x-hop, keep-alive', ...(await pay()) });
    const head = lines.map(([name, value]) => `${name}: ${value}`).join('\r\n');
    const received = await exchange(
      `POST ${prefix}/weather HTTP/1.1\r\nHost: shop.example\r\n${head}\r\nContent-Length: 2\r\n\r\n{}`,
    );
    expect(statusesOf(received)).toEqual([200]);
    const { headers } = upstream.requests[0]!;
    expect(headers).toMatchObject({
      ...passed,
      'content-length': '2',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-host': 'shop.example',
      'x-forwarded-proto': 'http',
      host: new URL(upstream.url).host,
    });
    const rebuilt = ['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'];
    const own = ['tollgate-payer', 'tollgate-payment-id', 'tollgate-signature', 'tollgate-timestamp'];
    expect(headers['tollgate-payment-id']).toMatch(/^pay_[0-9a-z]{26}$/);
    for (const name of Object.keys(withheld)) {
      if (!rebuilt.includes(name) && !own.includes(name)) expect(headers).not.toHaveProperty([name]);
    }
    const known = [
      ...Object.keys(passed),
      ...rebuilt,
      ...own,
      'content-length',
      'host',
      'connection',
      'accept-encoding',
    ];
    expect(Object.keys(headers).filter((name) => !known.includes(name))).toEqual([]);
    expect(JSON.stringify(headers)).not.toMatch(/secret|forged|evil|10\.0\.0\.1/);
  });

  test('say who paid, with a signature that only the gateway can make', async () => {
    const answer = await fetch(`${shop.url}/files/a?b=c`, { headers: await pay() });
    expect(answer.status).toBe(200);
    const { headers, path, method } = upstream.requests[0]!;
    expect(path).toBe('/files/a?b=c');
    expect(headers['tollgate-payer']).toBe(buyer.address);
    const secret = await alice.graphql<{ project: { upstreamSecret: string } }>(
      'query ($id: ID!) { project(id: $id) { upstreamSecret } }',
      { id: shop.projectId },
    );
    const verify = (body: string) =>
      new Webhook(secret.data!.project.upstreamSecret).sign(
        headers['tollgate-payment-id'] as string,
        new Date(Number(headers['tollgate-timestamp']) * 1000),
        body,
      );
    const signatures = String(headers['tollgate-signature']).split(' ');
    const { origin } = new URL(upstream.url);
    expect(signatures).toEqual([path, origin + path].map((place) => verify(`${buyer.address}.${method}.${place}`)));
  });

  test('include those that the endpoint lists, unless they are only for the connection', async () => {
    const head = [
      `GET ${prefix}/custom HTTP/1.1`,
      ...['Host: a', 'X-Custom: kept', 'x_custom: forged', 'Authorization: Bearer of-the-api', 'X-Other: o'],
      ...['X-Hop: h', 'Connection: x-hop', await paymentLine()],
    ];
    expect(statusesOf(await exchange(`${head.join('\r\n')}\r\n\r\n`))).toEqual([200]);
    const { headers } = upstream.requests[0]!;
    expect(headers).toMatchObject({ 'x-custom': 'kept', authorization: 'Bearer of-the-api' });
    for (const name of ['x_custom', 'x-other', 'x-hop']) expect(headers).not.toHaveProperty([name]);
  });

  test("don't request an encoding that the caller didn't name", async () => {
    await exchange(`GET ${prefix}/weather HTTP/1.1\r\nHost: a\r\n${await paymentLine()}\r\n\r\n`);
    expect(upstream.requests[0]!.headers['accept-encoding']).toBe('identity');
  });
});

describe("the buyer's response", () => {
  test('has no headers that affect the connection, the entire host, or other sites', async () => {
    upstream.handle(() => ({
      statusCode: 201,
      headers: {
        connection: 'x-internal, close',
        'x-internal': 'secret',
        'set-cookie': ['a=1', 'b=2'],
        location: 'http://user:secret@169.254.169.254/latest',
        'strict-transport-security': 'max-age=1',
        'clear-site-data': '"*"',
        'content-security-policy': "default-src 'none'",
        'access-control-allow-origin': 'https://evil.example',
        'access-control-allow-credentials': 'true',
        'x-frame-options': 'DENY',
        'x-powered-by': 'PHP',
        'x-payment-response': 'forged',
        'payment-response': 'forged',
        'payment-required': 'forged',
        'x-accel-redirect': '/etc/passwd',
        'x-litespeed-location': '/etc/passwd',
        'x-lighttpd-send-file': '/etc/passwd',
        'x-reproxy-url': 'http://169.254.169.254/latest',
        'x-litespeed-cache-control': 'public, evil',
        refresh: '0; url=https://evil.example',
        'alt-svc': 'h3=":1"',
        'content-type': 'text/html',
        etag: '"e"',
        'x-custom': 'kept',
        link: '</next>; rel="next"',
      },
      body: '<script>1</script>',
    }));
    const answer = await fetch(`${shop.url}/weather`, { headers: await pay() });
    expect(answer.status).toBe(201);
    const headers = Object.fromEntries(answer.headers);
    expect(headers).toMatchObject({
      'content-type': 'text/html',
      etag: '"e"',
      'x-custom': 'kept',
      link: '</next>; rel="next"',
      'access-control-allow-origin': '*',
      // Sellers share this service's host, so their content runs there without any rights.
      'content-security-policy': 'sandbox',
      'x-content-type-options': 'nosniff',
    });
    expect(JSON.stringify(headers)).not.toMatch(/secret|169\.254|evil|passwd|forged|a=1|PHP/);
    for (const name of [
      'strict-transport-security',
      'clear-site-data',
      'alt-svc',
      'refresh',
      'access-control-allow-credentials',
    ]) {
      expect(headers).not.toHaveProperty([name]);
    }
  });

  test("has no Location that is outside the endpoint, comes with another status, or contains the seller's parameters", async () => {
    const located = async (statusCode: number, location: string, path = '/weather') => {
      upstream.handle(() => ({ statusCode, headers: { location } }));
      const answer = await fetch(shop.url + path, { headers: await pay() });
      expect(answer.status).toBe(statusCode);
      return answer.headers.get('location');
    };
    expect(await located(201, '/internal/7')).toBeNull();
    expect(await located(200, '/now/7')).toBeNull();
    expect(await located(404, '/now/7')).toBeNull();
    expect(await located(201, '/keyed/7?key=of-the-seller&n=1', '/keyed')).toBe(`${shop.url}/keyed/7?n=1`);
    expect(await located(201, 'https://cdn.example/7')).toBe('https://cdn.example/7');
  });

  test('keeps the encoding that the upstream chose', async () => {
    const { gzipSync } = await import('node:zlib');
    upstream.handle(() => ({ headers: { 'content-encoding': 'gzip' }, body: gzipSync('zipped') }));
    const answer = await fetch(`${shop.url}/weather`, { headers: await pay() });
    expect(await answer.text()).toBe('zipped');
  });

  test.each([204, 304])('can be empty: %i', async (statusCode) => {
    upstream.handle(() => ({ statusCode, headers: { etag: '"e"' } }));
    const headers = await pay();
    for (let time = 0; time < 2; time++) {
      const answer = await fetch(`${shop.url}/weather`, { headers });
      expect(answer.status).toBe(statusCode);
      expect(answer.headers.get('etag')).toBe('"e"');
      expect(await answer.text()).toBe('');
    }
  });

  test('has the content length of the response to GET if the request is HEAD', async () => {
    upstream.handle(() => ({ headers: { 'content-length': '1234' } }));
    const headers = await pay();
    for (let time = 0; time < 2; time++) {
      const answer = await fetch(`${shop.url}/weather`, { method: 'HEAD', headers });
      expect([answer.status, answer.headers.get('content-length')]).toEqual([200, '1234']);
    }
  });

  test('has no body if the request is HEAD', async () => {
    const headers = await pay();
    for (let time = 0; time < 2; time++) {
      const answer = await fetch(`${shop.url}/weather`, { method: 'HEAD', headers });
      expect(answer.status).toBe(200);
      expect(await answer.text()).toBe('');
    }
    expect(upstream.requests.map(({ method }) => method)).toEqual(['HEAD']);
  });
});

describe('request body limits', () => {
  test('a body with a declared length over the limit gets 413 before the payment is claimed', async () => {
    const headers = await pay();
    const length = 10 * 1024 * 1024 + 1;
    const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const received = await exchange(
      `POST ${prefix}/weather HTTP/1.1\r\nHost: a\r\n${head.join('\r\n')}\r\nContent-Length: ${length}\r\n\r\n`,
    );
    expect(statusesOf(received)[0]).toBe(413);
    expect((await fetch(`${shop.url}/weather`, { headers })).status).toBe(200);
  });

  test('a streamed body over the limit gets 413 and costs nothing', async () => {
    const poor = await rails.wallet(10_000n);
    let sent = 0;
    const endless = new ReadableStream({
      pull(controller) {
        sent += 65_536;
        if (sent > 64 * 1024 * 1024) controller.close();
        else controller.enqueue(new Uint8Array(65_536));
      },
    });
    const answer = await fetch(`${shop.url}/weather`, {
      method: 'POST',
      headers: v2Headers(await sign(poor)),
      body: endless,
      duplex: 'half',
    } as RequestInit).catch((error) => error);
    // The connection can close before the client has read the response.
    if (answer instanceof Response) expect(answer.status).toBe(413);
    expect(sent).toBeLessThan(32 * 1024 * 1024);
    await expect.poll(() => rails.chain.balanceOf(poor.address)).toBe(10_000n);
  });

  test("a buyer who disconnects while sending isn't charged, and leaves no open payment", async () => {
    const poor = await rails.wallet(10_000n);
    const headers = v2Headers(await sign(poor));
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    socket.write(
      `POST ${prefix}/weather HTTP/1.1\r\nHost: a\r\nPAYMENT-SIGNATURE: ${headers['payment-signature']}\r\nContent-Length: 100\r\n\r\nhalf`,
    );
    await expect.poll(() => upstream.connectionCount()).toBeGreaterThan(0);
    await expect.poll(() => rails.facilitator.countOf('verify')).toBeGreaterThan(0);
    await expect.poll(() => statusOf(poor.address)).toBe('VERIFIED');
    socket.destroy();
    await expect.poll(() => statusOf(poor.address)).toBe('FAILED');
    expect(upstream.requests).toHaveLength(0);
    expect(await rails.chain.balanceOf(poor.address)).toBe(10_000n);
  });
});
