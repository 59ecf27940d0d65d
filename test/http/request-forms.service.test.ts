import { on, once } from 'node:events';
import { request as startRequest } from 'node:http';
import { connect } from 'node:net';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sign, v2Headers } from '../gateway/sign.ts';
import { createShop, type Rails, startRails } from '../gateway/support.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { sendRaw } from '../support/raw-http.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';

let rails: Rails;
let upstream: Receiver;
let app: TestApp;
let alice: TestUser;
let shop: Awaited<ReturnType<typeof createShop>>;
let host: string;
let paid: string;
let logged = '';

beforeAll(async () => {
  rails = await startRails();
  const write = (line: string) => {
    logged += line;
  };
  const log = pino({ level: 'trace' }, { write });
  app = await startTestApp({ env: rails.env, log });
  alice = await app.user('alice');
  upstream = await startReceiver();
  upstream.handle(({ body }) => ({ body: `${body.length} bytes` }));
  shop = await createShop(app, alice, { '/weather': { upstreamUrl: `${upstream.url}/now` } });
  ({ host } = new URL(app.url));
  paid = `${new URL(shop.url).pathname}/weather`;
});
afterAll(async () => {
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

/** Sends a request with these header lines, and returns its response and problem. */
async function send(method: string, target: string, lines: string[] = [], body = '') {
  const head = [`${method} ${target} HTTP/1.1`, `Host: ${host}`, `Authorization: Bearer ${alice.token}`, ...lines];
  const [answer] = await sendRaw(app.url, [`${[...head, '', ''].join('\r\n')}${body}`]);
  const isJson = answer!.headers.get('content-type')?.includes('json');
  return { ...answer!, json: isJson && answer!.text ? JSON.parse(answer!.text) : undefined };
}

describe('an upgrade that is not offered is ignored', () => {
  const H2C = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAEAAEAAAAIAAAAB'];
  const TLS = ['Connection: Upgrade', 'Upgrade: TLS/1.0'];
  const SOCKET = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: AAAA'];

  test.each([
    ['h2c', H2C],
    ['TLS', TLS],
    ['WebSocket', SOCKET],
  ])('%s', async (_name, lines) => {
    const list = await send('GET', '/api/projects', lines);
    expect(list).toMatchObject({ status: 200, json: { data: [expect.objectContaining({ id: shop.projectId })] } });
    expect(await send('GET', paid, lines)).toMatchObject({ status: 402, json: { accepts: [expect.anything()] } });
    const missing = await send('GET', '/nowhere', lines);
    expect(missing).toMatchObject({ status: 404, json: { code: 'NOT_FOUND', requestId: expect.any(String) } });
    expect(missing.headers.get('x-request-id')).toBe(missing.json.requestId);
  });

  test('with a body', async () => {
    const body = JSON.stringify({ name: 'Upgraded', walletAddress: `0x${'ab'.repeat(20)}` });
    const lines = [...H2C, 'Content-Type: application/json', `Content-Length: ${body.length}`];
    expect(await send('POST', '/api/projects', lines, body)).toMatchObject({ status: 201, json: { name: 'Upgraded' } });
    const query = JSON.stringify({ query: '{ __typename }' });
    const graphql = [...TLS, 'Content-Type: application/json', `Content-Length: ${query.length}`];
    expect(await send('POST', '/graphql', graphql, query)).toMatchObject({ status: 200 });
  });

  test('and the connection closes if the request has a body, so that nothing after it is read as a request', async () => {
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    const closed = once(socket, 'close');
    let received = '';
    socket.on('data', (data) => {
      received += data;
    });
    const lines = [`Host: ${host}`, ...H2C, 'Content-Length: 5'];
    socket.write(`${['POST /nowhere HTTP/1.1', ...lines].join('\r\n')}\r\n\r\nhello`);
    await closed;
    expect(received).toMatch(/^HTTP\/1\.1 404 .*\r\nConnection: close\r\n/s);
    expect(received.match(/^HTTP/gm)).toHaveLength(1);
  });

  test('and the connection stays usable if there is no body', async () => {
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    const responses = on(socket, 'data');
    for (const lines of [H2C, []]) {
      socket.write([`GET /healthz HTTP/1.1`, `Host: ${host}`, ...lines, '', ''].join('\r\n'));
      const { value } = await responses.next();
      expect(String(value)).toMatch(/^HTTP\/1\.1 200 /);
    }
    socket.destroy();
  });
});

describe('a target that is a whole URL', () => {
  test('is served like its path, for every part of the service', async () => {
    expect(await send('GET', `http://${host}/api/projects`)).toMatchObject({ status: 200 });
    expect(await send('GET', `http://${host}${paid}?city=Bern`)).toMatchObject({ status: 402 });
    expect(await send('GET', `HTTP://${host}/healthz`)).toMatchObject({ status: 200 });
    expect(await send('GET', `http://${host}?x`)).toMatchObject({ status: 404, json: { instance: '/' } });
  });

  test('counts instead of the Host header, which must still be there once', async () => {
    const [answer] = await sendRaw(app.url, [
      `GET http://pay.example.com${paid} HTTP/1.1\r\nHost: other.example\r\n\r\n`,
    ]);
    expect(JSON.parse(answer!.text).accepts[0].resource).toBe(`http://pay.example.com${paid}`);
    const [without] = await sendRaw(app.url, [`GET http://${host}/healthz HTTP/1.1\r\n\r\n`]);
    expect(without!.status).toBe(400);
    const [twice] = await sendRaw(app.url, [`GET http://${host}/healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n`]);
    expect(twice!.status).toBe(400);
  });

  test('is rejected if it has a user name and password, which the log and the error leave out', async () => {
    const response = await send('GET', `http://user:hidden@${host}/nowhere`);
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect(JSON.stringify(response.json)).not.toContain('hidden');
    expect(logged).toContain(`http://${host}/nowhere`);
    expect(logged).not.toContain('hidden');
  });

  test.each(['ftp://host/healthz', 'http:///healthz'])('is rejected if it is no http URL: %s', async (target) => {
    expect((await send('GET', target)).status).toBeGreaterThanOrEqual(400);
  });
});

test.each(['QUERY', 'PROPFIND', 'MKCOL', 'TRACE', 'PURGE', 'SEARCH'])(
  'a paid route responds to %s with 405, and says which methods it has',
  async (method) => {
    const { status, headers, json } = await send(method, paid);
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD, POST, OPTIONS']);
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(json).toMatchObject({ code: 'METHOD_NOT_ALLOWED' });
    const xml = ['Content-Type: text/xml', 'Content-Length: 4'];
    expect((await send(method, paid, xml, '<a/>')).status).toBe(405);
    expect((await send(method, `${new URL(shop.url).pathname}/missing`)).status).toBe(404);
  },
);

test('the log has only the start of a long path, so that requests can’t write as much as they send', async () => {
  const path = `/${'long/'.repeat(1_500)}`;
  expect(await send('GET', path)).toMatchObject({ status: 404 });
  await expect.poll(() => logged).toContain(path.slice(0, 500));
  expect(logged).not.toContain(path.slice(0, 501));
});

describe('a client that waits for 100 Continue', () => {
  /** Sends a body only once the server asks for it, as curl does for large ones. */
  async function post(url: string, body: string, headers: Record<string, string> = {}) {
    const all = {
      expect: '100-continue',
      'content-length': body.length,
      'content-type': 'application/json',
      ...headers,
    };
    const request = startRequest(url, { method: 'POST', headers: all, agent: false });
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
    let wanted = 0;
    request.on('continue', () => {
      wanted += 1;
      request.end(body);
    });
    request.on('error', reject);
    request.on('response', async (response) => {
      resolve({ status: response.statusCode!, text: (await response.toArray()).join('') });
      request.destroy();
    });
    request.flushHeaders();
    return { ...(await promise), wanted };
  }

  const LARGE = 'x'.repeat(2_000_000);
  const PROJECT = JSON.stringify({ name: 'Patient', walletAddress: `0x${'ab'.repeat(20)}` });
  const owner = () => ({ authorization: `Bearer ${alice.token}` });

  test('gets the price of a paid route without sending the body', async () => {
    expect(await post(`${shop.url}/weather`, LARGE)).toMatchObject({ status: 402, wanted: 0 });
    expect(await post(`${shop.url}/missing`, LARGE)).toMatchObject({ status: 404, wanted: 0 });
  });

  test('is asked for the body once its payment is verified', async () => {
    const poor = v2Headers(await sign(await rails.wallet(0n)));
    expect(await post(`${shop.url}/weather`, LARGE, poor)).toMatchObject({ status: 402, wanted: 0 });
    const paid = v2Headers(await sign(await rails.wallet(10_000n)));
    const response = await post(`${shop.url}/weather`, LARGE, paid);
    expect(response).toEqual({ status: 200, text: '2000000 bytes', wanted: 1 });
  });

  test('is asked for the body of any other request that is allowed', async () => {
    expect(await post(`${app.url}/api/projects`, PROJECT, owner())).toMatchObject({ status: 201, wanted: 1 });
    const query = JSON.stringify({ query: '{ __typename }' });
    expect(await post(`${app.url}/graphql`, query, owner())).toMatchObject({ status: 200, wanted: 1 });
    expect(await post(`${app.url}/api/nowhere`, PROJECT, owner())).toMatchObject({ status: 404, wanted: 0 });
  });

  test('gets a response to any other expectation as if it were not there', async () => {
    const lines = ['Expect: the-unexpected'];
    expect(await send('GET', '/api/projects', lines)).toMatchObject({ status: 200 });
  });
});
