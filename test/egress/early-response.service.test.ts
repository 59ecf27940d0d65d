import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { startTransport, TRANSPORTS, type Transport, trustServers } from './transports.ts';

trustServers();

const BODY = 'x'.repeat(1_000);
const FRAMINGS = {
  'a declared length': `content-length: ${BODY.length}\r\n\r\n${BODY}`,
  chunks: `transfer-encoding: chunked\r\n\r\n3e8\r\n${BODY}\r\n0\r\n\r\n`,
  'the end of the connection': `\r\n${BODY}`,
};
const responseOf = (status: number, framing: keyof typeof FRAMINGS, headers = '') =>
  `HTTP/1.1 ${status} Any\r\n${headers}${FRAMINGS[framing]}`;

/** How a server ends a connection that it doesn't want to read any longer. */
type End = (socket: Socket, tcp: Socket) => void;

const ENDINGS: Record<string, End> = {
  'closes the connection': (socket) => socket.destroySoon(),
  'closes the connection without reading': (_socket, tcp) => tcp.destroy(),
  'keeps the connection open': () => {},
  'resets the connection': (_socket, tcp) => tcp.resetAndDestroy(),
};

const CHUNK = Buffer.alloc(64 * 1024);

/**
 * Uploads to a server that responds to the first bytes and then ends the connection. More of the body is written right
 * then, before the client can have read the response.
 */
async function upload(transport: Transport, response: string, end: End, headers: Record<string, string> = {}) {
  const body = new PassThrough();
  await using server = await startTransport(transport, (socket, tcp) => {
    socket.pause();
    socket.once('readable', () => {
      if (response !== '') socket.write(response);
      end(socket, tcp);
      for (let count = 0; count < 16; count++) body.write(CHUNK);
    });
  });
  body.write(CHUNK);
  const { origin } = new URL(server.url);
  const dispatcher = server.egress.dispatcherFor('someone');
  const closed = new Promise((resolve) => body.once('close', resolve));
  const received = await dispatcher.request({ origin, path: '/', method: 'POST', body, headers });
  const result = [received.statusCode, await received.body.text()];
  await closed;
  return { result, failure: body.errored };
}

describe.each(TRANSPORTS)('over %s, a response that is sent before the request has arrived is read', (transport) => {
  describe.each(Object.entries(ENDINGS))('if the server then %s', (_how, end) => {
    test.each([200, 401, 413, 422, 503])('with status %i', async (status) => {
      const response = responseOf(status, 'a declared length');
      for (let count = 0; count < 12; count++)
        expect(await upload(transport, response, end)).toEqual({ result: [status, BODY], failure: null });
    });

    const isClosed = end !== ENDINGS['keeps the connection open'];
    const framings = Object.keys(FRAMINGS) as (keyof typeof FRAMINGS)[];

    test.each(framings.slice(0, isClosed ? 3 : 2))('delimited by %s', async (framing) => {
      for (const headers of ['', 'connection: close\r\n']) {
        const { result } = await upload(transport, responseOf(413, framing, headers), end);
        expect(result).toEqual([413, BODY]);
      }
    });

    test('to a request with a declared length', async () => {
      const headers = { 'content-length': String(8 * 1024 * 1024) };
      const { result } = await upload(transport, responseOf(413, 'a declared length'), end, headers);
      expect(result).toEqual([413, BODY]);
    });

    test('to a request whose body is in memory', async () => {
      await using server = await startTransport(transport, (socket, tcp) => {
        socket.pause();
        socket.once('readable', () => {
          socket.write(responseOf(413, 'a declared length'));
          end(socket, tcp);
        });
      });
      const body = Buffer.alloc(8 * 1024 * 1024);
      const response = await server.egress.get(server.url, { method: 'POST', body });
      expect([response.statusCode, response.body.toString()]).toEqual([413, BODY]);
    });

    if (!isClosed) return;
    test('unless there is none', async () => {
      await expect(upload(transport, '', end)).rejects.toMatchObject({
        code: expect.stringMatching(/^(UND_ERR_SOCKET|ECONNRESET|EPIPE)$/),
      });
    });
  });
});
