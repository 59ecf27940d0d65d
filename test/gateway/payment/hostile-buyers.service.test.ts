import { connect, type Socket } from 'node:net';
import fc from 'fast-check';
import type { PrivateKeyAccount } from 'viem/accounts';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { canonicalRequest } from '../../../src/gateway/routing/canonical-request.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { type RawResponse, sendRaw } from '../../support/raw-http.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { accepted, encode, headerLines, rawRequest, sign, v1Headers, v2Headers } from '../sign.ts';
import { createShop, type Rails, startRails } from '../support.ts';

const MEGABYTE = 1024 * 1024;

vi.setConfig({ testTimeout: 90_000 });

let rails: Rails;
let app: TestApp;
let upstream: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;
let prefix: string;
let buyer: PrivateKeyAccount;
/** Requests that never finish. They are sent first because it takes a while until they are cut off. */
let slow: { payer: PrivateKeyAccount; responses: Promise<RawResponse[]>[]; stop(): void };

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver();
  app = await startTestApp({ env: rails.env });
  shop = await createShop(app, await app.user('alice'), {
    '/weather': { upstreamUrl: `${upstream.url}/now` },
    '/files/*': { upstreamUrl: `${upstream.url}/files` },
  });
  prefix = new URL(shop.url).pathname;
  buyer = await rails.wallet(100_000_000n);
  slow = await startSlowRequests();
});

beforeEach(() => {
  upstream.requests.length = 0;
  upstream.handle(() => ({ body: 'served' }));
});

afterAll(async () => {
  slow?.stop();
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

const pay = async (from = buyer) => headerLines(v2Headers(await sign(from)));

/** A connection for writing bytes over time. */
function openSocket(): Socket {
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
  socket.on('error', () => {});
  return socket;
}

async function startSlowRequests(): Promise<typeof slow> {
  const payer = await rails.wallet(10_000n);
  const paidHead = rawRequest(`POST ${prefix}/weather`, 'Host: a', 'Content-Length: 500', ...(await pay(payer)));
  const drips = [
    [paidHead, 'b'],
    [`GET ${prefix}/weather HTTP/1.1\r\nHost: a\r\n`, 'X-Drip: a\r\n'],
  ] as const;
  const stops: (() => void)[] = [];
  const responses = drips.map(async ([head, drip]) => {
    const socket = openSocket();
    socket.write(head);
    const timer = setInterval(() => socket.write(drip), 500);
    stops.push(() => {
      clearInterval(timer);
      socket.destroy();
    });
    const text = (await socket.toArray().catch(() => [])).join('');
    clearInterval(timer);
    return [{ status: Number(text.split(' ')[1]), headers: new Headers(), text }];
  });
  return { payer, responses, stop: () => stops.forEach((stop) => void stop()) };
}

describe('a payment header', () => {
  const deep = `${'{"a":'.repeat(1_000)}1${'}'.repeat(1_000)}`;
  const padded = async (length: number) =>
    headerLines(v2Headers({ ...(await sign(buyer)), padding: 'x'.repeat(length) }));
  const headers: [string, () => Promise<string[]>, number][] = [
    ['sent twice', async () => [...(await pay()), ...(await pay())], 400],
    ['in both versions', async () => [...headerLines(v1Headers(await sign(buyer))), ...(await pay())], 400],
    ['of 100 KB', () => padded(75_000), 431],
    ['of 14 KB', () => padded(9_000), 400],
    ['with deeply nested JSON', async () => [`payment-signature: ${Buffer.from(deep).toString('base64')}`], 400],
    ['of an array', async () => [`payment-signature: ${encode([await sign(buyer)])}`], 400],
    ['of an unknown version', async () => headerLines(v2Headers(await sign(buyer), { x402Version: 3 })), 400],
    ['of version 1 in the header of version 2', async () => [`payment-signature: ${encode({ x402Version: 1 })}`], 400],
  ];
  test.each(headers)('%s is rejected without an upstream call', async (_what, lines, status) => {
    const responses = await sendRaw(app.url, [rawRequest(`GET ${prefix}/weather`, 'Host: a', ...(await lines()))]);
    expect(responses.map((response) => response.status)).toEqual([status]);
    expect(upstream.requests).toHaveLength(0);
  });

  test('has the same meaning with and without prototype keys', async () => {
    const ask = (json: string) =>
      fetch(`${shop.url}/weather`, { headers: { 'payment-signature': Buffer.from(json).toString('base64') } });
    const terms = JSON.stringify({ x402Version: 2, accepted: accepted(), payload: await sign(buyer) });
    const keys = '"__proto__":{"scheme":"x","isAdmin":true},"constructor":{"prototype":{"isAdmin":true}},';
    expect((await ask(terms.replace('{', `{${keys}`))).status).toBe(200);
    expect({}).not.toHaveProperty('isAdmin');
    // Inherited terms don't count.
    const inherited = JSON.stringify({ x402Version: 2, payload: await sign(buyer) });
    const refused = await ask(inherited.replace('{', `{"__proto__":${JSON.stringify({ accepted: accepted() })},`));
    expect(refused.status).toBe(400);
  });

  test("can't be removed by naming it in Connection, and neither can the gateway's own headers", async () => {
    const hop =
      'Connection: payment-signature, tollgate-payer, tollgate-signature, x-forwarded-for, content-length, host';
    const head = rawRequest(`POST ${prefix}/weather`, 'Host: a', hop, 'Content-Length: 4', ...(await pay()));
    const [response] = await sendRaw(app.url, [head, 'body']);
    expect(response!.status).toBe(200);
    expect(upstream.requests.map(({ body }) => body.toString())).toEqual(['body']);
    expect(upstream.requests[0]!.headers).toMatchObject({
      'tollgate-payer': buyer.address,
      'tollgate-signature': expect.stringMatching(/^v1,/),
      'x-forwarded-for': '127.0.0.1',
      host: new URL(upstream.url).host,
    });
  });
});

describe('an unsupported method or upgrade', () => {
  test.each([
    ['TRACE', () => `TRACE ${prefix}/weather`, [405]],
    ['PROPFIND', () => `PROPFIND ${prefix}/weather`, [405]],
    ['an unknown method', () => `STEAL ${prefix}/weather`, [400]],
    ['CONNECT', () => `CONNECT 127.0.0.1:${upstream.port}`, []],
  ] as [string, () => string, number[]][])("%s doesn't reach an upstream", async (_what, line, statuses) => {
    const responses = await sendRaw(app.url, [rawRequest(line(), 'Host: a', ...(await pay()))]);
    expect(responses.map(({ status }) => status)).toEqual(statuses);
    expect(upstream.requests).toHaveLength(0);
  });

  test.each([
    ['a WebSocket', ['Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: YQ==']],
    ['HTTP/2 without TLS', ['Upgrade: h2c', 'HTTP2-Settings: AAMAAABk']],
  ])('%s reaches an upstream only as a plain request', async (_what, upgrade) => {
    const lines = ['Host: a', 'Connection: Upgrade, HTTP2-Settings', ...upgrade, ...(await pay())];
    const responses = await sendRaw(app.url, [rawRequest(`GET ${prefix}/weather`, ...lines)]);
    expect(responses.map(({ status }) => status)).toEqual([200]);
    expect(upstream.requests).toHaveLength(1);
    const names = Object.keys(upstream.requests[0]!.headers);
    expect(names.filter((name) => /upgrade|http2|websocket/.test(name))).toEqual([]);
    expect(upstream.requests[0]!.headers.connection).not.toMatch(/upgrade/i);
  });
});

describe('a request target', () => {
  test('reaches the upstream exactly as it was routed, for any input', async () => {
    const parts = '/ . .. %2e %2f %5c %41 ; : * a ~ %25 %c3%a9 // @ ? &q=1 = %0d%0aX:1 " < |'.split(' ');
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...parts), { maxLength: 8 }), async (chosen) => {
        upstream.requests.length = 0;
        const target = `/files/${chosen.join('')}`;
        const asked = canonicalRequest(target);
        const head = rawRequest(`GET ${prefix}${target}`, 'Host: a', ...(await pay()));
        const responses = await sendRaw(app.url, [head]);
        expect(responses.map(({ status }) => status)).toEqual([asked.ok ? 200 : 400]);
        const forwarded = asked.ok ? [asked.query === '?' ? asked.path : asked.path + asked.query] : [];
        expect(upstream.requests.map(({ path }) => path)).toEqual(forwarded);
        expect(upstream.requests.filter(({ headers }) => 'x' in headers)).toEqual([]);
      }),
      { numRuns: 30 },
    );
  });

  test("can't inject a header into the response", async () => {
    const target = `${prefix}/weather?a=%0d%0aSet-Cookie:%20b=1&c=%E5%98%8A%E5%98%8D`;
    const [response] = await sendRaw(app.url, [rawRequest(`GET ${target}`, 'Host: a')]);
    expect(response!.status).toBe(402);
    expect([...response!.headers.keys()]).not.toContain('set-cookie');
  });
});

describe('a buyer', () => {
  test('is served once after waiting for 100-continue', async () => {
    const headers = ['Host: a', 'Expect: 100-continue', 'Content-Length: 4', ...(await pay())];
    const responses = await sendRaw(app.url, [rawRequest(`POST ${prefix}/weather`, ...headers), 'body']);
    expect(responses.map(({ status }) => status)).toEqual([100, 200]);
    expect(upstream.requests.map(({ body }) => body.toString())).toEqual(['body']);
    expect(upstream.requests[0]!.headers).not.toHaveProperty('expect');
  });

  test('is charged after half-closing the connection only if the response stays available', async () => {
    const poor = await rails.wallet(10_000n);
    const headers = v2Headers(await sign(poor));
    const socket = openSocket();
    socket.end(rawRequest(`GET ${prefix}/weather`, 'Host: a', ...headerLines(headers)));
    await socket.toArray();
    const repeat = async () => (await fetch(`${shop.url}/weather`, { headers })).status;
    await expect.poll(repeat).not.toBe(409);
    const outcome = [await repeat(), await rails.chain.balanceOf(poor.address)];
    expect([
      [200, 0n],
      [402, 10_000n],
    ]).toContainEqual(outcome);
    expect(upstream.requests.length).toBeLessThanOrEqual(1);
  });

  test('can send trailers, which are never treated as headers', async () => {
    const headers = ['Host: a', 'Transfer-Encoding: chunked', 'Trailer: X-Late', ...(await pay())];
    const body = '2\r\nab\r\n0\r\nX-Late: 1\r\nTollgate-Payer: 0x0\r\n\r\n';
    const [response] = await sendRaw(app.url, [rawRequest(`POST ${prefix}/weather`, ...headers), body]);
    expect(response!.status).toBe(200);
    expect(upstream.requests[0]!.headers).not.toHaveProperty('x-late');
    expect(upstream.requests[0]!.headers['tollgate-payer']).toBe(buyer.address);
  });

  test('uses no more memory than others by sending many requests on one connection and reading nothing', async () => {
    upstream.handle(({ path }) => (path.endsWith('wait') ? undefined : { body: Buffer.alloc(10 * MEGABYTE) }));
    const others = async () => {
      const response = await fetch(`${shop.url}/weather`, { headers: v2Headers(await sign(buyer)) });
      await response.bytes();
      return response.status;
    };
    const payer = await rails.wallet();
    const lines = [rawRequest(`GET ${prefix}/files/wait`, 'Host: a', ...(await pay(payer)))];
    for (let n = 0; n < 9; n++) lines.push(rawRequest(`GET ${prefix}/files/large`, 'Host: a', ...(await pay(payer))));
    const socket = openSocket();
    // The first request has no response yet, so none of the others can have one.
    socket.write(lines.join(''));
    const alice = await app.user('alice');
    const finished = async () => {
      const { body } = await alice.rest<{ data: { status: string }[] }>(
        'GET',
        `${shop.base}/payments?payer=${payer.address}`,
      );
      return body.data.filter(({ status }) => status === 'SETTLED' || status === 'FAILED').length;
    };
    await expect.poll(finished).toBe(9);
    expect(await others()).toBe(503);
    socket.destroy();
    await expect.poll(others).toBe(200);
  });
});

// This runs last because it waits for the requests that were started first.
test("a buyer who drips headers or a paid body is cut off with 408 and isn't charged", async () => {
  for (const responses of slow.responses) {
    const [response] = await responses;
    expect(response!.status).toBe(408);
    expect(response!.text).toContain('REQUEST_TIMEOUT');
  }
  expect(await rails.chain.balanceOf(slow.payer.address)).toBe(10_000n);
});
