import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { startTransport, TRANSPORTS, trustServers } from './transports.ts';

trustServers();

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ndone';

type Close = (socket: Socket, tcp: Socket) => void;

/**
 * A server that serves one request on each connection, and closes it when the next one arrives, as if both had happened
 * at the same time. Records the requests that arrived on each connection, as `METHOD body`.
 */
function startClosing(transport: (typeof TRANSPORTS)[number], close: Close, served = 1) {
  const connections: string[][] = [];
  const started = startTransport(transport, (socket, tcp) => {
    const requests: string[] = [];
    connections.push(requests);
    socket.on('data', (data: Buffer) => {
      if (!data.includes('HTTP/1.1')) return;
      const [head, body] = data.toString().split('\r\n\r\n');
      requests.push(`${head!.split(' ')[0]} ${body}`.trim());
      if (requests.length > served) close(socket, tcp);
      else socket.write(OK);
    });
  });
  return started.then((transported) => Object.assign(transported, { connections }));
}

const CLOSES: [string, Close][] = [
  ['closes', (socket) => socket.end()],
  ['resets', (_socket, tcp) => tcp.resetAndDestroy()],
];

const IDEMPOTENT: [method: string, body?: string | Buffer][] = [
  ['GET'],
  ['OPTIONS'],
  ['DELETE'],
  ['PUT', 'text'],
  ['PUT', Buffer.from('text')],
];

describe.each(TRANSPORTS)('over %s, a request on a connection that the server closes', (transport) => {
  describe.each(CLOSES)('(%s)', (_how, close) => {
    test.each(IDEMPOTENT)('is sent once more on a new connection: %s %s', async (method, body) => {
      await using server = await startClosing(transport, close);
      await server.egress.get(server.url);
      const { body: received } = await server.egress.get(server.url, { method, ...(body && { body }) });
      expect(received.toString()).toBe('done');
      const sent = `${method} ${body ?? ''}`.trim();
      expect(server.connections).toEqual([['GET', sent], [sent]]);
    });

    test('is sent once more for callers that stream', async () => {
      await using server = await startClosing(transport, close);
      const { origin } = new URL(server.url);
      const dispatcher = server.egress.dispatcherFor('someone');
      for (let count = 0; count < 3; count++) {
        const response = await dispatcher.request({ origin, path: '/', method: 'GET' });
        expect([response.statusCode, await response.body.text()]).toEqual([200, 'done']);
        await turn();
      }
      expect(server.connections.map(({ length }) => length)).toEqual([2, 1, 1]);
    });

    test.each(['POST', 'PATCH'])("isn't sent again if it is a %s", async (method) => {
      await using server = await startClosing(transport, close);
      await server.egress.get(server.url);
      const failure = await server.egress.failureOf(server.url, { method, body: 'text' });
      expect(failure).toMatchObject({ errorClass: 'connection_reset' });
      expect(server.connections).toEqual([['GET', `${method} text`]]);
    });

    test("isn't sent again if its body was a stream", async () => {
      await using server = await startClosing(transport, close);
      const { origin } = new URL(server.url);
      const dispatcher = server.egress.dispatcherFor('someone');
      const put = () =>
        dispatcher.request({ origin, path: '/', method: 'PUT', body: Readable.from([Buffer.from('x')]) });
      await (await put()).body.dump();
      await expect(put()).rejects.toThrow();
      expect(server.connections).toHaveLength(1);
    });

    test("isn't sent again if the connection was new", async () => {
      await using server = await startClosing(transport, close, 0);
      expect(await server.egress.failureOf(server.url)).toMatchObject({ errorClass: 'connection_reset' });
      expect(server.connections).toEqual([['GET']]);
    });

    test("isn't sent again more than once", async () => {
      let isOpen = true;
      await using server = await startTransport(transport, (socket, tcp) => {
        socket.on('data', () => {
          if (isOpen) socket.write(OK);
          else close(socket, tcp);
        });
      });
      await server.egress.get(server.url);
      isOpen = false;
      expect(await server.egress.failureOf(server.url)).toMatchObject({ errorClass: 'connection_reset' });
      expect(server.connectionCount()).toBe(2);
    });

    test.each([
      ['a part of a response', 'H'],
      ['100 Continue', 'HTTP/1.1 100 Continue\r\n\r\n'],
      ['early hints', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
      ['a part of a body', OK.slice(0, -1)],
    ])("isn't sent again after %s", async (_what, part) => {
      await using server = await startClosing(transport, (socket, tcp) => {
        socket.write(part);
        close(socket, tcp);
      });
      await server.egress.get(server.url);
      expect(await server.egress.failureOf(server.url)).toMatchObject({ errorClass: 'connection_reset' });
      expect(server.connections).toEqual([['GET', 'GET']]);
    });
  });
});
