import { type AddressInfo, createServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { sendRaw } from '../../support/raw-http.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { headerLines, rawRequest, sign, v2Headers } from '../sign.ts';
import { createShop, type Rails, startRails } from '../support.ts';

vi.setConfig({ testTimeout: 90_000 });

let rails: Rails;
let app: TestApp;
let upstream: Receiver;
/** An upstream that writes arbitrary bytes. */
let wild: { port: number; write(socket: Socket): void; close(): Promise<void> };
let shop: Awaited<ReturnType<typeof createShop>>;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver();
  wild = await startWildUpstream();
  app = await startTestApp({ env: rails.env });
  shop = await createShop(app, await app.user('alice'), {
    '/weather': { upstreamUrl: `${upstream.url}/now` },
    '/wild': { upstreamUrl: `http://127.0.0.1:${wild.port}/secret-path?key=of-the-seller` },
    '/closed': { upstreamUrl: 'http://127.0.0.1:1/secret-path?key=of-the-seller' },
  });
});

beforeEach(() => {
  upstream.requests.length = 0;
});

afterAll(async () => {
  await app?.stop();
  await wild?.close();
  await upstream?.close();
  await rails?.close();
});

async function startWildUpstream(): Promise<typeof wild> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', () => wild.write(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    write: () => {},
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Pays for a request. Returns the response and whether the buyer was charged. */
async function payFor(path: string) {
  const payer = await rails.wallet(10_000n);
  const response = await fetch(shop.url + path, { headers: v2Headers(await sign(payer)) });
  const body = Buffer.from(await response.bytes());
  const isCharged = (await rails.chain.balanceOf(payer.address)) === 0n;
  return { status: response.status, headers: response.headers, body, isCharged };
}

function payForWild(write: (socket: Socket) => void) {
  wild.write = write;
  return payFor('/wild');
}

describe('an upstream', () => {
  const free = { status: 502, isCharged: false };
  const paid = { status: 200, isCharged: true };

  test.each<[string, string, object]>([
    ['more than it declared', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabHTTP/1.1 200 OK\r\n\r\nx', paid],
    ['less than it declared', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab', free],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc', free],
    [
      'a length and chunks',
      'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n',
      free,
    ],
    ['chunks without an end', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n', free],
    ['an invalid chunk size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n', free],
    [
      'an upgrade that nobody requested',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n',
      free,
    ],
    ['something other than HTTP', 'hello\r\n\r\n', free],
    ['a header with a null byte', 'HTTP/1.1 200 OK\r\nX-A: a\0b\r\nContent-Length: 0\r\n\r\n', free],
    ['headers without an end', `HTTP/1.1 200 OK\r\n${'X-Filler: aaaaaaaaaaaaaaaa\r\n'.repeat(20_000)}`, free],
    ['a redirect', `HTTP/1.1 302 Found\r\nLocation: REDIRECT\r\nContent-Length: 0\r\n\r\n`, free],
    [
      'trailers',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Late\r\n\r\n1\r\na\r\n0\r\nSet-Cookie: a=1\r\n\r\n',
      paid,
    ],
  ])('is cut off after the first response, or costs nothing, if it sends %s', async (_what, text, outcome) => {
    const result = await payForWild((socket) =>
      socket.end(text.replace('REDIRECT', `${upstream.url}/elsewhere`), 'latin1'),
    );
    expect(result).toMatchObject(outcome);
    expect(result.headers.get('set-cookie')).toBeNull();
    expect(upstream.requests).toHaveLength(0);
  });

  test('costs the buyer nothing if its headers and the receipt are together too large for the stock client', async () => {
    const filler = 'X-Filler: aaaaaaaaaaaaaaaa\r\n'.repeat(675);
    const result = await payForWild((socket) => socket.end(`HTTP/1.1 200 OK\r\nContent-Length: 1\r\n${filler}\r\na`));
    expect(result).toMatchObject(free);
  });

  test('works as usual if it sends interim responses before the final one', async () => {
    const result = await payForWild((socket) =>
      socket.end(
        `${'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n'.repeat(1_000)}HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na`,
      ),
    );
    expect(result).toMatchObject(paid);
    expect(result.headers.get('link')).toBeNull();
  });

  test('is paid for a response of millions of chunks', async () => {
    const chunks = Buffer.from('1\r\na\r\n'.repeat(100_000));
    const result = await payForWild((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      let sent = 0;
      const more = () => {
        while (sent++ < 20) if (!socket.write(chunks)) return socket.once('drain', more);
        return socket.end('0\r\n\r\n');
      };
      more();
    });
    expect(result).toMatchObject(paid);
    expect(result.body).toHaveLength(2_000_000);
  });

  test('has its response passed on compressed, even if it is a compression bomb', async () => {
    const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024));
    upstream.handle(() => ({ headers: { 'content-encoding': 'gzip' }, body: bomb }));
    const head = rawRequest(
      `GET ${new URL(shop.url).pathname}/weather`,
      'Host: a',
      'Accept-Encoding: gzip',
      ...headerLines(v2Headers(await sign(await rails.wallet()))),
    );
    const [response] = await sendRaw(app.url, [head]);
    expect(response!.status).toBe(200);
    expect(response!.headers.get('content-encoding')).toBe('gzip');
    expect(response!.headers.get('content-length')).toBe(String(bomb.length));
  });

  test("can't forge the receipt, or drop it by naming it in Connection", async () => {
    const forged = Buffer.from('{"success":true,"transaction":"0xforged"}').toString('base64');
    const hop = 'Connection: payment-response, x-payment-response, cache-control, tollgate-payment-id';
    const result = await payForWild((socket) =>
      socket.end(`HTTP/1.1 200 OK\r\n${hop}\r\nPayment-Response: ${forged}\r\nContent-Length: 1\r\n\r\na`),
    );
    expect(result).toMatchObject(paid);
    const receipt = JSON.parse(Buffer.from(result.headers.get('payment-response')!, 'base64').toString());
    expect(receipt).toMatchObject({ success: true, transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/) });
    expect(result.headers.get('cache-control')).toBe('no-store');
  });

  test('never has its URL revealed in a response, even if the request fails', async () => {
    const echo = `Location: http://127.0.0.1:${wild.port}/secret-path?key=of-the-seller`;
    const responses = [
      await payForWild((socket) => socket.end(`HTTP/1.1 307 Moved\r\n${echo}\r\nContent-Length: 0\r\n\r\n`)),
      await payForWild((socket) => socket.end(`HTTP/1.1 201 Created\r\n${echo}\r\nContent-Length: 0\r\n\r\n`)),
      await payForWild((socket) => socket.destroy()),
      await payForWild((socket) => socket.end('no HTTP')),
      await payFor('/closed'),
      await payFor('/wild?key=mine'),
      await payFor('/wild/../closed'),
    ];
    const unpaid: Record<string, string>[] = [{}, { accept: 'text/html' }, { 'payment-signature': '!' }];
    for (const headers of unpaid) {
      const response = await fetch(`${shop.url}/wild`, { headers });
      responses.push({
        ...responses[0]!,
        headers: response.headers,
        status: response.status,
        body: Buffer.from(await response.bytes()),
      });
    }
    expect(responses.map(({ status }) => status)).toEqual([502, 201, 502, 502, 502, 400, 502, 402, 402, 400]);
    for (const { headers, body } of responses) {
      const decoded = Buffer.from(headers.get('payment-required') ?? '', 'base64').toString();
      const said = `${JSON.stringify([...headers])} ${body} ${decoded}`;
      expect(said).not.toMatch(new RegExp(`of-the-seller|secret-path|127\\.0\\.0\\.1:(1|${wild.port})\\b`));
    }
  });
});
