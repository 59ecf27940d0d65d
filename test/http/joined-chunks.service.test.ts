import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { joinChunks } from '../../src/http/joined-chunks.ts';
import { startTestApp } from '../support/app.ts';

const AN_HOUR = 3_600_000;

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** A server, and a connection that has sent the head of a request with a chunked body. */
async function open(respond: RequestListener, joinMilliseconds = AN_HOUR) {
  const server = createServer(respond);
  joinChunks(server, joinMilliseconds);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    .setNoDelay()
    .on('error', () => {});
  closers.push(
    () => server.close(),
    () => socket.destroy(),
  );
  const received = once(server, 'request') as Promise<[IncomingMessage]>;
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
  const [request] = await received;
  return { request, socket };
}

const chunkOf = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const numbered = (count: number) => Array.from({ length: count }, (_, index) => String(index).padStart(20, '.'));

async function read(request: IncomingMessage): Promise<string[]> {
  const chunks: string[] = [];
  for await (const chunk of request) chunks.push(String(chunk));
  return chunks;
}

test('the chunks of a body that nobody reads are joined', async () => {
  const { request, socket } = await open(() => {});
  const sent = numbered(3_000);
  socket.write(`${sent.map(chunkOf).join('')}0\r\n\r\n`);
  await expect.poll(() => request.complete).toBe(true);
  let chunks = 0;
  const received: Buffer[] = [];
  request.on('data', (chunk) => {
    chunks += 1;
    received.push(chunk);
  });
  await once(request, 'end');
  expect(String(Buffer.concat(received))).toBe(sent.join(''));
  expect(chunks).toBeLessThan(100);
});

test('chunks that arrive one by one are joined, too', async () => {
  const { request, socket } = await open(() => {});
  const reading = read(request);
  const sent = numbered(2_000);
  for (const text of sent) await new Promise((resolve) => socket.write(chunkOf(text), resolve));
  socket.write('0\r\n\r\n');
  const chunks = await reading;
  expect(chunks.join('')).toBe(sent.join(''));
  expect(chunks.length).toBeLessThan(100);
});

test('a few small chunks don’t wait for others, and neither do more of them for long', async () => {
  const { request, socket } = await open(() => {}, 1);
  let received = '';
  request.on('data', (chunk) => {
    received += chunk;
  });
  const sent = numbered(1_000);
  let expected = '';
  for (const text of sent.slice(0, 70)) {
    socket.write(chunkOf(text));
    expected += text;
    await expect.poll(() => received).toBe(expected);
  }
});

test('chunks keep their order, whatever their sizes', async () => {
  const { request, socket } = await open(() => {});
  const reading = read(request);
  const sent = Array.from({ length: 400 }, (_, index) => String(index).repeat(1 + ((index * 37) % 3_000)));
  socket.write(`${sent.map(chunkOf).join('')}0\r\n\r\n`);
  expect((await reading).join('')).toBe(sent.join(''));
});

test('of a large body that nobody reads, only the beginning is received, even if it arrives in small chunks', async () => {
  const flood = `${numbered(500_000).map(chunkOf).join('')}0\r\n\r\n`;
  const unread = await open(() => {}, 0);
  unread.socket.write(flood);
  const other = await open((request) => void request.resume(), 0);
  other.socket.write(flood);
  await once(other.request, 'end');
  expect(unread.request.readableLength).toBeGreaterThan(60_000);
  expect(unread.request.readableLength).toBeLessThan(140_000);
});

test('a connection that sends thousands of tiny chunks is closed', async () => {
  const { socket } = await open((request) => void request.resume());
  const closed = once(socket, 'close');
  socket.resume().write(chunkOf('a').repeat(1_000));
  socket.write(chunkOf('a').repeat(4_000));
  await closed;
  expect(socket.destroyed).toBe(true);
});

test('the service accepts a body in a thousand small chunks', async () => {
  const app = await startTestApp();
  closers.push(() => app.stop());
  const { token } = await app.user('alice');
  const body = JSON.stringify({
    query: '{ __typename }',
    operationName: null,
    extensions: { note: 'x'.repeat(20_000) },
  });
  const pieces = body.match(/.{1,20}/g)!;
  const { port } = new URL(app.url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(
    `POST /graphql HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n${pieces.map(chunkOf).join('')}0\r\n\r\n`,
  );
  let text = '';
  for await (const chunk of socket) text += chunk;
  expect(text).toContain('"__typename":"Query"');
});
