import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { sign, v2Headers } from '../sign.ts';
import { createShop, decodeHeader, type Rails, startRails } from '../support.ts';

let rails: Rails;
let app: TestApp;
let alice: TestUser;
let upstream: Receiver;
let database: pg.Client;
let shop: Awaited<ReturnType<typeof createShop>>;
let rateLimitNow = () => performance.now();

const JSON_TYPE = { 'content-type': 'application/json' };
const CALL = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'echo', arguments: {} } };
const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };
const RESULT = { jsonrpc: '2.0', id: 7, result: { content: [] } };

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver();
  app = await startTestApp({ env: rails.env, rateLimitNow: () => rateLimitNow() });
  database = new pg.Client({ connectionString: app.databaseUrl });
  await database.connect();
  alice = await app.user('alice');
});

beforeEach(async () => {
  shop = await createShop(app, alice, {
    '/mcp': { upstreamUrl: `${upstream.url}/mcp`, protocol: 'MCP' },
    '/free': { upstreamUrl: `${upstream.url}/mcp`, protocol: 'MCP', priceUsd: '0' },
  });
  upstream.requests.length = 0;
  upstream.handle(({ body }) => ({ headers: JSON_TYPE, body: answerTo(body, JSON.stringify(RESULT)) }));
});

afterAll(async () => {
  await database?.end();
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

/** The response with the ID of the call, which is 7 in `response`. */
function answerTo(call: Buffer, response: string): string {
  return response.replaceAll('"id":7', `"id":${JSON.stringify(JSON.parse(call.toString() || '{}').id)}`);
}

function post(body: unknown, headers: Record<string, string> = {}, path = '/mcp') {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return fetch(shop.url + path, { method: 'POST', headers: { ...JSON_TYPE, ...headers }, body: text });
}

async function payments(): Promise<string[]> {
  const { rows } = await database.query(
    `SELECT concat_ws(' ', status, "failureReason", "failureMessage") AS payment FROM "Payment"
      WHERE "projectId" = $1 ORDER BY id`,
    [shop.projectId],
  );
  return rows.map(({ payment }) => payment);
}

async function payFor(body: unknown, headers: Record<string, string> = {}) {
  const buyer = await rails.wallet(10_000n);
  const payment = v2Headers(await sign(buyer));
  const response = await post(body, { ...payment, ...headers });
  const text = await response.text();
  const receipt = response.headers.get('payment-response');
  const isCharged = (await rails.chain.balanceOf(buyer.address)) === 0n;
  return { payment, status: response.status, text, receipt: receipt && decodeHeader(receipt), isCharged };
}

describe('a free request', () => {
  test('reaches the server as the gateway read it, with headers that describe it', async () => {
    const sent =
      '{ "method":"tools/call", "method":"resources/read", "Method":"tools/call", "params":{"n":12345678901234567890}, "id":1, "jsonrpc":"2.0" }';
    const headers = { 'mcp-session-id': 's', 'mcp-protocol-version': '2025-11-25', 'content-digest': 'sha-256=:AA==:' };
    expect((await post(sent, { ...headers, 'payment-signature': 'x' })).status).toBe(200);
    const expected = '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"n":12345678901234567890}}';
    const [received] = upstream.requests;
    expect(received!.body.toString()).toBe(expected);
    expect(received!.headers).toMatchObject({
      'mcp-session-id': 's',
      'mcp-protocol-version': '2025-11-25',
      'content-type': 'application/json',
      'content-length': String(expected.length),
    });
    for (const name of ['content-digest', 'tollgate-signature', 'payment-signature'])
      expect(received!.headers, name).not.toHaveProperty(name);
    expect(await payments()).toEqual([]);
  });

  test('can be a GET with the ID of the last event, a DELETE, a notification, or a batch', async () => {
    upstream.handle(() => ({
      statusCode: 202,
      headers: { 'mcp-session-id': 's', 'mcp-protocol-version': '2025-11-25' },
    }));
    const get = await fetch(`${shop.url}/mcp`, { headers: { 'last-event-id': 'e1' } });
    expect(get.headers.get('access-control-expose-headers')).toContain('mcp-session-id');
    expect([get.headers.get('mcp-session-id'), get.headers.get('mcp-protocol-version')]).toEqual(['s', '2025-11-25']);
    await fetch(`${shop.url}/mcp`, { method: 'DELETE' });
    await post({ jsonrpc: '2.0', method: 'notifications/cancelled' });
    await post([PING, { jsonrpc: '2.0', id: 'q', result: {} }]);
    expect(upstream.requests.map(({ method, headers }) => [method, headers['last-event-id']])).toEqual([
      ...[
        ['GET', 'e1'],
        ['DELETE', undefined],
      ],
      ...[
        ['POST', undefined],
        ['POST', undefined],
      ],
    ]);
    expect(await payments()).toEqual([]);
  });

  test('gets its response as a stream', async () => {
    let stream: ServerResponse | undefined;
    upstream.handle((_request, response) => {
      stream = response.writeHead(200, { 'content-type': 'text/event-stream' });
      stream.write('data: 1\n\n');
      return undefined;
    });
    for (const request of [() => post(PING), () => fetch(`${shop.url}/mcp`), () => post(CALL, {}, '/free')]) {
      const response = await request();
      const reader = response.body!.getReader();
      expect(Buffer.from((await reader.read()).value!).toString()).toBe('data: 1\n\n');
      stream!.end('data: 2\n\n');
      expect(Buffer.from((await reader.read()).value!).toString()).toBe('data: 2\n\n');
      expect((await reader.read()).done).toBe(true);
    }
  });

  test('counts toward its own limit, and tool calls are not limited by it', async () => {
    const startedAt = performance.now();
    rateLimitNow = () => startedAt;
    const statuses = await Promise.all(Array.from({ length: 601 }, async () => (await post(PING)).status));
    expect(statuses.filter((status) => status === 429).length).toBe(1);
    const limited = await fetch(`${shop.url}/mcp`);
    expect([limited.status, limited.headers.has('retry-after')]).toEqual([429, true]);
    expect((await post(CALL)).status).toBe(402);
    expect((await payFor(CALL)).status).toBe(200);
    rateLimitNow = () => performance.now();
  });

  test('an address can hold 64 notification streams, which end when the client is gone', async () => {
    const ended: unknown[] = [];
    upstream.handle((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      response.once('close', () => ended.push(1));
      return undefined;
    });
    const clients = Array.from({ length: 64 }, () => new AbortController());
    const open = await Promise.all(clients.map(({ signal }) => fetch(`${shop.url}/mcp`, { signal })));
    expect(new Set(open.map(({ status }) => status))).toEqual(new Set([200]));
    const refused = await fetch(`${shop.url}/mcp`);
    expect([refused.status, refused.headers.has('retry-after')]).toEqual([503, true]);
    upstream.respondNext({ statusCode: 202 });
    expect((await post(PING)).status).toBe(202);
    clients[0]!.abort();
    await expect.poll(() => ended.length).toBe(1);
    await expect.poll(async () => (await fetch(`${shop.url}/mcp`, { signal: clients[1]!.signal })).status).toBe(200);
    for (const client of clients) client.abort();
    await expect.poll(() => ended.length).toBe(65);
  });
});

describe('a request that the gateway refuses to read', () => {
  test.each([
    ['text/plain', {}, 'x', 415],
    ['application/json; charset=utf-16', {}, '{}', 415],
    ['application/json', { 'content-encoding': 'gzip' }, '{}', 415],
    ['application/json', {}, '', 400],
    ['application/json', {}, '{"method":"tools/call"}', 400],
    ['application/json', {}, JSON.stringify([PING, CALL]), 400],
    ['application/json', {}, JSON.stringify({ ...PING, params: 'x'.repeat(1024 * 1024) }), 413],
  ])('never reaches the server: %s %j %.40s', async (type, headers, body, status) => {
    const response = await post(body, { ...headers, 'content-type': type });
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toContain('application/problem+json');
    expect(upstream.requests).toEqual([]);
    expect((await payFor(body, { ...headers, 'content-type': type })).status).toBe(status);
    expect(await payments()).toEqual([]);
  });

  test.each(['GET', 'DELETE'])(
    'a %s with a body, which a server could read as a message, is refused',
    async (method) => {
      const body = JSON.stringify(CALL);
      const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
      const path = new URL(`${shop.url}/mcp`).pathname;
      const head = `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n`;
      socket.write(`${head}content-length: ${body.length}\r\n\r\n${body}`);
      const [answer] = await once(socket, 'data');
      socket.destroy();
      expect(String(answer)).toMatch(/^HTTP\/1.1 400 /);
      expect(upstream.requests).toEqual([]);
    },
  );

  test('a body that is too large without saying so is refused, and other methods are', async () => {
    const body = new ReadableStream({
      start(controller) {
        for (let sent = 0; sent <= 1024 * 1024; sent += 65_536) controller.enqueue(Buffer.alloc(65_536, ' '));
        controller.close();
      },
    });
    const request = { method: 'POST', headers: JSON_TYPE, body, duplex: 'half' } as RequestInit;
    expect((await fetch(`${shop.url}/mcp`, request)).status).toBe(413);
    for (const method of ['PUT', 'PATCH', 'HEAD'])
      expect((await fetch(`${shop.url}/mcp`, { method })).status, method).toBe(405);
    expect(upstream.requests).toEqual([]);
  });

  test('a client that waits for permission to send is told to send its message', async () => {
    const body = JSON.stringify(CALL);
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    const path = new URL(`${shop.url}/mcp`).pathname;
    const head = `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nexpect: 100-continue\r\n`;
    socket.write(`${head}content-length: ${body.length}\r\n\r\n`);
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1.1 100 /);
    socket.write(body.slice(0, 20));
    socket.write(body.slice(20));
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1.1 402 /);
    socket.destroy();
  });
});

describe('a paid tool call', () => {
  test('reaches the server with an ID that is hard to guess, and its response can be fetched again', async () => {
    const sent =
      '{ "id":1, "Id":1, "method":"tools\\/call", "params":{"n":12345678901234567890,"_meta":{"progressToken":7}}, "id":7, "jsonrpc":"2.0" }';
    const headers = { 'accept-encoding': 'gzip', 'content-digest': 'sha-256=:AA==:' };
    const { payment, ...first } = await payFor(sent, headers);
    expect(first).toMatchObject({ status: 200, text: JSON.stringify(RESULT), isCharged: true });
    const again = await post(sent, payment);
    expect([again.status, await again.text()]).toEqual([200, JSON.stringify(RESULT)]);
    expect((await post(CALL, payment)).status).toBe(409);
    expect((await post(sent.replace('"id":7', '"id":8'), payment)).status).toBe(409);
    const [received, ...others] = upstream.requests;
    expect(others).toEqual([]);
    expect(received!.body.toString()).toMatch(
      /^{"jsonrpc":"2.0","id":"tollgate_call_[\w-]{22}_Nw","method":"tools\/call","params":{"n":12345678901234567890,"_meta":{"progressToken":7}}}$/,
    );
    const length = String(received!.body.length);
    expect(received!.headers).toMatchObject({ 'accept-encoding': 'identity', 'content-length': length });
    expect(received!.headers).toHaveProperty('tollgate-signature');
    expect(received!.headers).not.toHaveProperty('content-digest');
    expect(await payments()).toEqual(['SETTLED']);
    await payFor(sent);
    const [id, next] = upstream.requests.map(({ body }) => JSON.parse(body.toString()).id);
    expect(id).not.toBe(next);
  });

  test.each(['"7"', '7.0e0', '-12345678901234567890', '"Zürich \\u0022🙂"', `"${'x'.repeat(253)}"`, '""'])(
    'gets a response with the ID as the buyer wrote it: %.30s',
    async (id) => {
      const events = ': start\n\nid: 1\ndata: {"jsonrpc":"2.0","id":7,"method":"roots/list"}\n\n';
      upstream.handle(({ body }) => ({
        headers: { 'content-type': 'text/event-stream', 'content-digest': 'sha-256=:AA==:' },
        body: `${events}data: ${answerTo(body, '{"result":{"id":7},"id":7}')}\n\n`,
      }));
      const sent = JSON.stringify(CALL).replace('7', id);
      const { payment, ...call } = await payFor(sent);
      const text = `${events}data: {"result":{"id":${id}},"id":${id}}\n\n`;
      expect(call).toMatchObject({ status: 200, text, isCharged: true });
      const again = await post(sent, payment);
      expect([await again.text(), again.headers.has('content-digest')]).toEqual([text, false]);
    },
  );

  test('can have its response on a stream that the buyer opens later, in chunks of any size', async () => {
    upstream.handle(() => ({ statusCode: 202 }));
    expect(await payFor({ ...CALL, id: 'ü' })).toMatchObject({ status: 202, isCharged: true });
    const stream = `data: ${answerTo(upstream.requests[0]!.body, '{"text":"é \\"tollgate_call_\\"","id":7}')}\n\ndata: "tollgate_call_"`;
    upstream.handle(async (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const byte of Buffer.from(stream)) {
        response.write(Buffer.of(byte));
        await new Promise((resolve) => setImmediate(resolve));
      }
      response.end();
      return undefined;
    });
    const later = await fetch(`${shop.url}/mcp`, { headers: { 'last-event-id': 'e1' } });
    expect(await later.text()).toBe('data: {"text":"é \\"tollgate_call_\\"","id":"ü"}\n\ndata: "tollgate_call_"');
    expect(upstream.requests[1]!.headers).toMatchObject({ 'accept-encoding': 'identity' });
  });

  test.each([
    ['a result with `isError`', JSON_TYPE, { ...RESULT, result: { content: [], isError: true } }],
    ['a JSON-RPC error', JSON_TYPE, { jsonrpc: '2.0', id: 7, error: { code: -32603, message: 'No' } }],
    [
      'an error in a stream',
      { 'content-type': 'text/event-stream' },
      { jsonrpc: '2.0', id: 7, error: { code: -32603 } },
    ],
  ])('costs nothing if its response is %s, and the buyer sees it', async (_name, headers, message) => {
    const isStream = headers['content-type'] === 'text/event-stream';
    const body = isStream
      ? `data: {"jsonrpc":"2.0","method":"notifications/progress"}\n\ndata: ${JSON.stringify(message)}\n\n`
      : JSON.stringify(message);
    upstream.handle((call) => ({ headers, body: answerTo(call.body, body) }));
    const { payment, ...call } = await payFor(CALL);
    expect(call).toMatchObject({ status: 200, text: body, isCharged: false });
    expect(call.receipt).toMatchObject({ success: false, errorReason: 'tool_error' });
    expect(await payments()).toEqual([expect.stringMatching(/^FAILED tool_error The /)]);
    const again = await post(CALL, payment);
    expect([again.status, (await again.json()).error]).toEqual([402, expect.stringContaining('tool_error')]);
    expect(upstream.requests.length).toBe(1);
  });

  test.each([
    ['a task', 200, JSON_TYPE, JSON.stringify({ ...RESULT, result: { task: { taskId: 't', status: 'working' } } })],
    ['a stream that ends before the result', 200, { 'content-type': 'text/event-stream' }, 'id: 1\ndata:\n\n'],
    ['an acceptance', 202, {}, ''],
  ])(
    'is charged if its response is %s, because the result is free to fetch',
    async (_name, statusCode, headers, body) => {
      upstream.handle(() => ({ statusCode, headers: headers as Record<string, string>, body }));
      expect(await payFor(CALL)).toMatchObject({ status: statusCode, text: body, isCharged: true });
      expect(await payments()).toEqual(['SETTLED']);
    },
  );

  test('costs nothing if the server responds with an error status, or never ends its stream', async () => {
    upstream.handle(() => ({ statusCode: 404, headers: JSON_TYPE, body: '{}' }));
    expect(await payFor(CALL)).toMatchObject({ status: 404, isCharged: false });
    await alice.rest('PATCH', `${shop.base}/endpoints/${shop.ids['/mcp']}`, { timeoutSeconds: 1 });
    upstream.handle((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${JSON.stringify(RESULT)}\n\n`);
      return undefined;
    });
    expect(await payFor(CALL)).toMatchObject({ status: 504, isCharged: false });
    expect((await payments()).map((payment) => payment.split(' ')[1])).toEqual(['upstream_error', 'upstream_timeout']);
  });
});

describe('an endpoint that becomes an MCP server between the requests of a buyer', () => {
  /** Creates an endpoint for HTTP. Returns a function that changes it. */
  async function addHttp(fields: object) {
    const endpoint = { path: '/late', upstreamUrl: `${upstream.url}/late`, priceUsd: '0.01', ...fields };
    const { body } = await alice.rest<{ id: string }>('POST', `${shop.base}/endpoints`, endpoint);
    const change = { protocol: 'MCP', settlement: 'AFTER_RESPONSE' };
    return async () => {
      expect((await alice.rest('PATCH', `${shop.base}/endpoints/${body.id}`, change)).status).toBe(200);
    };
  }

  test('recognizes the retry of a request that is in progress, and gives it the response', async () => {
    const becomeMcp = await addHttp({});
    const called = Promise.withResolvers<ServerResponse>();
    upstream.handle((_request, response) => void called.resolve(response));
    const payment = v2Headers(await sign(await rails.wallet(10_000n)));
    const first = post(CALL, payment, '/late');
    const response = await called.promise;
    await becomeMcp();
    const during = await post(CALL, payment, '/late');
    expect([during.status, (await during.json()).code]).toEqual([409, 'PAYMENT_IN_PROGRESS']);
    const other = await post({ ...CALL, id: 8 }, { ...payment, 'idempotency-key': 'other' }, '/late');
    expect([other.status, (await other.json()).code]).toEqual([409, 'PAYMENT_REUSED']);
    response.end('served');
    expect(await (await first).text()).toBe('served');
    const again = await post(CALL, payment, '/late');
    expect([again.status, await again.text()]).toEqual([200, 'served']);
    expect((await post({ ...CALL, id: 8 }, payment, '/late')).status).toBe(409);
  });

  test.each(['application/json', 'text/event-stream'])(
    'answers a free second call with the ID of the buyer, as %s',
    async (type) => {
      const becomeMcp = await addHttp({ settlement: 'BEFORE_REQUEST' });
      upstream.handle(() => ({ statusCode: 500 }));
      const payment = v2Headers(await sign(await rails.wallet(10_000n)));
      expect((await post(CALL, payment, '/late')).status).toBe(500);
      await becomeMcp();
      upstream.handle(({ body }) => ({
        headers: { 'content-type': type },
        body: answerTo(body, `data: ${JSON.stringify(RESULT)}\n\n`),
      }));
      const again = await vi.waitUntil(
        async () => {
          const response = await post(CALL, payment, '/late');
          return response.status === 409 ? undefined : response;
        },
        { timeout: 60_000 },
      );
      expect([again.status, await again.text()]).toEqual([200, `data: ${JSON.stringify(RESULT)}\n\n`]);
    },
  );
});

test('the terms and the documents describe tool calls', async () => {
  const terms = await post(CALL);
  expect(terms.status).toBe(402);
  const { extensions } = decodeHeader<{ extensions: { bazaar: { info: { input: Record<string, unknown> } } } }>(
    terms.headers.get('payment-required'),
  );
  expect(extensions.bazaar.info.input).toMatchObject({
    type: 'http',
    method: 'POST',
    bodyType: 'json',
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'string' } },
  });
  const openApi = await (await fetch(`${shop.url}/openapi.json`)).json();
  expect(Object.keys(openApi.paths['/mcp'])).toEqual(['post']);
  const llms = await (await fetch(`${shop.url}/llms.txt`)).text();
  expect(llms).toContain('MCP server (Streamable HTTP). 0.01 USD per tool call.');
});

test('notification streams end when the service stops', async () => {
  const own = await startTestApp({ env: rails.env });
  const owner = await own.user('owner');
  const { url } = await createShop(own, owner, { '/mcp': { upstreamUrl: upstream.url, protocol: 'MCP' } });
  upstream.handle((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    return undefined;
  });
  const { body } = await fetch(`${url}/mcp`);
  const end = body!
    .getReader()
    .read()
    .then(
      ({ done }) => done,
      () => true,
    );
  await own.stop();
  expect(await end).toBe(true);
});
