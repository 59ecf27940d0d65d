import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type RawServer, startRawServer } from '../../egress/raw-server.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { sign, v2Headers } from '../sign.ts';
import { createShop, type Rails, startRails } from '../support.ts';

vi.setConfig({ testTimeout: 180_000 });

let rails: Rails;
let app: TestApp;
let upstream: RawServer;
let shop: Awaited<ReturnType<typeof createShop>>;
/** The methods of the requests on each connection. */
const connections: string[][] = [];

beforeAll(async () => {
  rails = await startRails();
  // Each connection serves one request. It is closed when the next one arrives, as if both had happened at the same time.
  upstream = await startRawServer((socket) => {
    const methods: string[] = [];
    connections.push(methods);
    socket.on('data', (data: Buffer) => {
      methods.push(data.toString().split(' ')[0]!);
      if (methods.length > 1) socket.destroy();
      // Without the hint, a slow test would find the connection closed by the gateway.
      else socket.write('HTTP/1.1 200 OK\r\nkeep-alive: timeout=30\r\ncontent-length: 4\r\n\r\ndone');
    });
  });
  app = await startTestApp({ env: rails.env });
});

let account = 0;

/** Each seller has their own connections. */
beforeEach(async () => {
  const endpoint = { upstreamUrl: `http://127.0.0.1:${upstream.port}/`, methods: ['GET', 'POST'] };
  shop = await createShop(app, await app.user(`seller-${account++}`), {
    '/held': endpoint,
    '/streamed': { ...endpoint, settlement: 'BEFORE_REQUEST' },
    '/free': { ...endpoint, priceUsd: '0' },
  });
  connections.length = 0;
});

afterAll(async () => {
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

async function call(path: string, method = 'GET') {
  const payer = await rails.wallet(10_000n);
  const headers = path === '/free' ? {} : v2Headers(await sign(payer));
  const body = method === 'POST' ? { body: 'text' } : {};
  const { status } = await fetch(shop.url + path, { method, headers, ...body });
  return { status, isCharged: (await rails.chain.balanceOf(payer.address)) === 0n };
}

describe.each([
  ['/held', true, false],
  ['/streamed', true, true],
  ['/free', false, false],
])('%s, if the upstream closes a connection just when it is used again,', (path, isPaid, isSettledFirst) => {
  test('sends a GET request once more, and charges once', async () => {
    const served = { status: 200, isCharged: isPaid };
    expect(await call(path)).toEqual(served);
    expect(await call(path)).toEqual(served);
    expect(connections).toEqual([['GET', 'GET'], ['GET']]);
  });

  test('sends a POST request only once', async () => {
    await call(path);
    expect(await call(path, 'POST')).toEqual({ status: 502, isCharged: isSettledFirst });
    expect(connections).toEqual([['GET', 'POST']]);
  });
});
