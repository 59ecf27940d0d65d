import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { sign, v2Headers } from '../sign.ts';
import { createShop, type Rails, startRails } from '../support.ts';

const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo' } };
const RESULT = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { content: [] } });
const TYPE = 'Content-Type: application/json\r\n';
const CHUNKED = `HTTP/1.1 200 OK\r\n${TYPE}Transfer-Encoding: chunked\r\n\r\n`;
const MEGABYTE = `100000\r\n${'x'.repeat(1024 * 1024)}\r\n`;

/** What a broken upstream does with its connection after it has the request. */
const FAULTS = {
  'resets the connection': (socket) => socket.resetAndDestroy(),
  'resets the connection in the middle of its response': (socket) =>
    socket.write(`${CHUNKED}2\r\n{"\r\n`, () => setImmediate(() => socket.resetAndDestroy())),
  'never ends its response': (socket) => {
    socket.write(CHUNKED);
    const more = () => {
      while (socket.write(MEGABYTE));
    };
    socket.on('drain', more);
    more();
  },
  // The second response would be the next buyer's.
  'sends more than it declares': (socket) =>
    socket.write(
      `HTTP/1.1 200 OK\r\n${TYPE}Content-Length: ${RESULT.length}\r\n\r\n${RESULT}` +
        `HTTP/1.1 200 OK\r\n${TYPE}Content-Length: ${RESULT.length}\r\n\r\n${RESULT.replace('content', 'garbage')}`,
    ),
} satisfies Record<string, (socket: Socket) => void>;

type Fault = keyof typeof FAULTS;

let rails: Rails;
let app: TestApp;
let alice: TestUser;
let upstream: { url: string; act: (response: ServerResponse) => void; close(): Promise<void> };
let shop: Awaited<ReturnType<typeof createShop>>;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startUpstream();
  app = await startTestApp({ env: rails.env });
  alice = await app.user('alice');
  const fields = { upstreamUrl: upstream.url };
  shop = await createShop(app, alice, {
    '/held': fields,
    '/streamed': { ...fields, settlement: 'BEFORE_REQUEST' },
    '/mcp': { ...fields, protocol: 'MCP' },
    '/free': { ...fields, priceUsd: '0' },
    '/free-stream': { ...fields, priceUsd: '0', settlement: 'BEFORE_REQUEST' },
  });
});
beforeEach(() => {
  upstream.act = serve;
});
afterAll(async () => {
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

const serve = (response: ServerResponse) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(RESULT);

async function startUpstream(): Promise<typeof upstream> {
  const server = createServer((request, response) => {
    response.socket!.on('error', () => {});
    request.resume().on('end', () => upstream.act(response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    act: serve,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Sends a request with a payment, and returns the response and what was recorded about the payment. */
async function buy(path: string) {
  const payer = await rails.wallet(10_000n);
  const headers = { ...v2Headers(await sign(payer)), 'content-type': 'application/json' };
  const request = path === '/mcp' ? { method: 'POST', body: JSON.stringify(CALL), headers } : { headers };
  const response = await fetch(shop.url + path, request);
  const text = await response.text().catch(() => 'cut off');
  const isCharged = (await rails.chain.balanceOf(payer.address)) === 0n;
  const payment = async () => {
    const { body } = await alice.rest<{ data: Record<string, unknown>[] }>('GET', `${shop.base}/payments`);
    return body.data.find((one) => one.payer === payer.address);
  };
  return { status: response.status, text, isCharged, payment };
}

/** The status, whether the buyer is charged, and the recorded reason. */
type Outcome = [status: number, isCharged: boolean, reason: string | null];

const HELD: Record<Fault, Outcome> = {
  'resets the connection': [502, false, 'upstream_unreachable'],
  'resets the connection in the middle of its response': [502, false, 'upstream_unreachable'],
  'never ends its response': [502, false, 'upstream_response_too_large'],
  'sends more than it declares': [200, true, null],
};
const held = Object.entries(HELD) as [Fault, Outcome][];

describe.each(['/held', '/mcp'])('a paid request whose response is held (%s)', (path) => {
  test.each(held)('and whose upstream %s ends with %j', async (fault, [status, isCharged, reason]) => {
    upstream.act = ({ socket }) => void FAULTS[fault](socket!);
    const { payment, text, ...bought } = await buy(path);
    expect(bought).toEqual({ status, isCharged });
    if (isCharged) expect(text).toBe(RESULT);
    expect(await payment()).toMatchObject({ status: isCharged ? 'SETTLED' : 'FAILED', failureReason: reason });
    upstream.act = serve;
    expect(await buy(path)).toMatchObject({ status: 200, text: RESULT, isCharged: true });
  });
});

describe('a paid request whose response is streamed', () => {
  test.each<[Fault, number, string, string | null]>([
    ['resets the connection', 502, 'You were charged.', 'upstream_unreachable'],
    ['resets the connection in the middle of its response', 200, 'cut off', 'upstream_unreachable'],
    ['sends more than it declares', 200, RESULT, null],
  ])('and whose upstream %s ends with %i', async (fault, status, content, unservedReason) => {
    upstream.act = ({ socket }) => void FAULTS[fault](socket!);
    const { payment, ...bought } = await buy('/streamed');
    expect(bought).toEqual({ status, text: expect.stringContaining(content), isCharged: true });
    await expect.poll(payment).toMatchObject({ status: 'SETTLED', unservedReason });
    if (unservedReason === null) await expect.poll(payment).toMatchObject({ servedAt: expect.any(String) });
    upstream.act = serve;
    expect(await buy('/streamed')).toMatchObject({ status: 200, text: RESULT });
  });
});

describe('a free request', () => {
  test.each(held)('whose upstream %s ends as if it were paid, and nothing is recorded', async (fault, [status]) => {
    upstream.act = ({ socket }) => void FAULTS[fault](socket!);
    const { payment, ...bought } = await buy('/free');
    expect(bought).toMatchObject({ status, isCharged: false });
    expect(await payment()).toBeUndefined();
    upstream.act = serve;
    expect(await buy('/free')).toMatchObject({ status: 200, text: RESULT });
  });

  test.each<[Fault, number, string]>([
    ['resets the connection', 502, 'UPSTREAM_FAILED'],
    ['resets the connection in the middle of its response', 200, 'cut off'],
    ['sends more than it declares', 200, RESULT],
  ])('whose response is streamed and whose upstream %s ends with %i', async (fault, status, content) => {
    upstream.act = ({ socket }) => void FAULTS[fault](socket!);
    expect(await buy('/free-stream')).toMatchObject({ status, text: expect.stringContaining(content) });
    upstream.act = serve;
    expect(await buy('/free-stream')).toMatchObject({ status: 200, text: RESULT });
  });
});
