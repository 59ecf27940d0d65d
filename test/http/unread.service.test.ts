import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { closeUnread } from '../../src/http/unread.ts';
import { pace } from '../support/pace.ts';

/** More than the buffers of two sockets. */
const LARGE = Buffer.alloc(64 * 1024 * 1024);

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A server, and a connection with requests that nobody has read the responses to yet. */
async function open(respond: RequestListener, { count = 1, idleMilliseconds = 200 } = {}) {
  const server = createServer(respond);
  closeUnread(server, idleMilliseconds);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const closed = new Promise((resolve) =>
    server.once('connection', (one) => one.once('close', () => resolve('closed'))),
  );
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
  closers.push(
    () => server.close(),
    () => socket.destroy(),
  );
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(count));
  return { socket, closed };
}

test.each([1, 2])('a connection is closed if nothing of its %i waiting responses is read', async (count) => {
  const { closed } = await open((_request, response) => response.end(LARGE), { count });
  expect(await closed).toBe('closed');
});

test('the system keeps nothing of a response that is not read', async () => {
  const { socket, closed } = await open((_request, response) => response.end(LARGE));
  await closed;
  const outcome = await new Promise((resolve) => {
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code));
    socket.once('end', () => resolve('the client could read the rest'));
    socket.resume();
  });
  expect(outcome).toBe('ECONNRESET');
});

test('a connection stays open if a response comes late', async () => {
  const { socket } = await open((_request, response) => {
    // What Node does when nothing was sent or received for the whole time.
    response.socket!.emit('timeout');
    response.end('late');
  });
  const [chunk] = await once(socket, 'data');
  expect(chunk.toString()).toContain('late');
});

test('a connection stays open if a response is read slowly', async () => {
  const { socket } = await open((_request, response) => response.end(LARGE), { idleMilliseconds: 3_000 });
  let received = 0;
  for await (const chunk of socket) {
    received += chunk.length;
    if (received % (8 * 1024 * 1024) < chunk.length) await pace(500);
    if (received > LARGE.length) break;
  }
  expect(received).toBeGreaterThan(LARGE.length);
});
