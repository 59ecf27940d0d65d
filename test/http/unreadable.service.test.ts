import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { limitPipelines } from '../../src/http/pipelines.ts';
import { respondToUnreadable } from '../../src/http/unreadable.ts';

const LINGER_MILLISECONDS = 50;

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A server that responds when the test says so, and a client that keeps its side of the connection open. */
async function open() {
  const responses: ServerResponse[] = [];
  const server = createServer({ requestTimeout: 300, connectionsCheckingInterval: 20 }, (_request, response) => {
    responses.push(response);
  });
  limitPipelines(server);
  server.on('clientError', (error, socket) =>
    respondToUnreadable(error, socket as Socket, undefined, LINGER_MILLISECONDS),
  );
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => {});
  closers.push(
    () => server.close(),
    () => socket.destroy(),
  );
  const received: string[] = [];
  socket.on('data', (data) => received.push(String(data)));
  return { responses, socket, received };
}

const WHOLE = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const UNFINISHED = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nbody';

test.each([
  ['a request that never arrives completely', UNFINISHED, 'HTTP/1.1 408 '],
  ['something that is no request', 'no request\r\n\r\n', 'HTTP/1.1 400 '],
])(
  'after %s, earlier requests end with the connection, even if the client keeps it open',
  async (_what, text, status) => {
    const { responses, socket, received } = await open();
    socket.write(WHOLE);
    await expect.poll(() => responses.length).toBe(1);
    socket.write(text);
    await once(responses[0]!, 'close');
    expect(received.join('')).toMatch(new RegExp(`^${status}`));
  },
);

test('a response that has been started is cut off, and the error does not become part of it', async () => {
  const { responses, socket, received } = await open();
  socket.write(WHOLE);
  await expect.poll(() => responses.length).toBe(1);
  responses[0]!.writeHead(200, { 'content-length': 1_000 }).write('part');
  socket.write(UNFINISHED);
  await once(socket, 'end');
  expect(received.join('').split('\r\n\r\n')).toEqual([expect.stringMatching('^HTTP/1.1 200 '), 'part']);
});
