import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type RawServer, startRawServer } from '../../egress/raw-server.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { sign, v2Headers } from '../sign.ts';
import { createShop, type Rails, startRails } from '../support.ts';

vi.setConfig({ testTimeout: 180_000 });

const UPLOAD_BYTES = 8 * 1024 * 1024;
/** For each status. A free endpoint serves 60 requests a minute. */
const TIMES = 3;

let rails: Rails;
let app: TestApp;
let upstream: RawServer;
let shop: Awaited<ReturnType<typeof createShop>>;
/** What the upstream sends as soon as it has the headers of a request. */
let response = '';
let end = (_socket: Socket): void => {};
let requestCount = 0;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startRawServer((socket) => {
    socket.pause();
    socket.once('readable', () => {
      requestCount++;
      socket.write(response);
      end(socket);
    });
  });
  app = await startTestApp({ env: rails.env });
  const endpoint = { upstreamUrl: `http://127.0.0.1:${upstream.port}/`, methods: ['POST'] };
  shop = await createShop(app, await app.user('alice'), {
    '/held': endpoint,
    '/streamed': { ...endpoint, settlement: 'BEFORE_REQUEST' },
    '/free': { ...endpoint, priceUsd: '0' },
    '/free-streamed': { ...endpoint, priceUsd: '0', settlement: 'BEFORE_REQUEST' },
  });
});

afterAll(async () => {
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

/** Uploads to an endpoint. Returns the response and whether the buyer was charged. */
async function upload(path: string) {
  const payer = await rails.wallet(10_000n);
  const headers = path.startsWith('/free') ? {} : v2Headers(await sign(payer));
  const answer = await fetch(shop.url + path, { method: 'POST', headers, body: Buffer.alloc(UPLOAD_BYTES) });
  const text = await answer.text();
  return { status: answer.status, text, isCharged: (await rails.chain.balanceOf(payer.address)) === 0n };
}

const ENDINGS: Record<string, (socket: Socket) => void> = {
  'and closes without reading': (socket) => socket.destroy(),
  'and closes after sending': (socket) => socket.destroySoon(),
  'and stays open': () => {},
};
const FRAMINGS = ['Content-Length: 6\r\n\r\nreason', 'Transfer-Encoding: chunked\r\n\r\n6\r\nreason\r\n0\r\n\r\n'];

describe.each([
  ['/held', false],
  ['/streamed', true],
  ['/free', false],
  ['/free-streamed', false],
])('an upstream of %s that responds before it has read the upload', (path, isSettledFirst) => {
  test.each([413, 401, 422, 503])('with status %i reaches the buyer', async (status) => {
    response = `HTTP/1.1 ${status} Any\r\nConnection: close\r\n${FRAMINGS[0]}`;
    end = ENDINGS['and closes without reading']!;
    requestCount = 0;
    for (let count = 0; count < TIMES; count++)
      expect(await upload(path)).toEqual({ status, text: 'reason', isCharged: isSettledFirst });
    expect(requestCount).toBe(TIMES);
  });

  test.each(Object.keys(ENDINGS))('%s, reaches the buyer, however the response is framed', async (how) => {
    end = ENDINGS[how]!;
    const framings = how === 'and stays open' ? FRAMINGS : [...FRAMINGS, 'Connection: close\r\n\r\nreason'];
    for (const framing of framings) {
      response = `HTTP/1.1 422 Any\r\n${framing}`;
      expect(await upload(path)).toEqual({ status: 422, text: 'reason', isCharged: isSettledFirst });
    }
  });

  test('successfully is paid for and delivered', async () => {
    response = `HTTP/1.1 200 OK\r\n${FRAMINGS[0]}`;
    end = ENDINGS['and closes without reading']!;
    for (let count = 0; count < TIMES; count++)
      expect(await upload(path)).toEqual({ status: 200, text: 'reason', isCharged: !path.startsWith('/free') });
  });
});
