import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { limitPipelines } from '../../src/http/pipelines.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A server that responds when the test says so, and a connection to it. It doesn't read bodies. */
async function open() {
  const responses: ServerResponse[] = [];
  const server = createServer((_request, response) => void responses.push(response));
  server.on('connection', (one) => closers.push(() => one.destroy()));
  limitPipelines(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
  closers.push(
    () => server.close(),
    () => socket.destroy(),
  );
  const closed = new Promise((resolve) => socket.once('close', () => resolve('closed')));
  const send = (count: number) => socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(count));
  const post = (bytes: number, count = 1) =>
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}\r\n\r\n${'a'.repeat(bytes)}`.repeat(count));
  return { responses, socket, closed, send, post };
}

test('a connection with more than 16 requests without a response is closed, and none of the others are handled', async () => {
  const { responses, socket, closed, send } = await open();
  socket.resume();
  send(500);
  expect(await closed).toBe('closed');
  expect(responses).toHaveLength(16);
});

test('a connection can have 16, and more after the responses', async () => {
  const { responses, socket, send } = await open();
  let received = '';
  socket.on('data', (data) => {
    received += data;
  });
  for (let round = 1; round <= 3; round++) {
    send(16);
    await expect.poll(() => responses.length).toBe(16);
    for (const response of responses.splice(0)) response.end('done');
    await expect.poll(() => received.split('done').length - 1).toBe(16 * round);
  }
});

const KILOBYTE = 1024;

test.each([
  ['in bodies', (size: number) => `Content-Length: ${size}\r\n\r\n${'a'.repeat(size)}`],
  ['in headers', (size: number) => `X-Large: ${'a'.repeat(size / 4)}\r\n\r\n`],
])('a connection that sends a lot %s behind a request without a response is closed', async (_where, restOf) => {
  const { responses, socket, send } = await open();
  socket.resume();
  send(1);
  socket.write(`POST / HTTP/1.1\r\nHost: a\r\n${restOf(60 * KILOBYTE)}`.repeat(15));
  await expect.poll(() => socket.closed || responses.length === 16).toBe(true);
  expect(responses.length).toBeLessThan(16);
});

test('small requests may follow a large body', async () => {
  const { responses, socket, send, post } = await open();
  post(200 * KILOBYTE);
  send(15);
  await expect.poll(() => responses.length).toBe(1);
  responses[0]!.req.resume();
  await expect.poll(() => responses.length).toBe(16);
  expect(socket.closed).toBe(false);
});

test('what was sent before a response doesn’t count after it', async () => {
  const { responses, socket, post } = await open();
  socket.resume();
  post(10 * KILOBYTE, 2);
  for (let count = 3; count <= 40; count++) {
    await expect.poll(() => responses.length).toBe(count - 1);
    post(10 * KILOBYTE);
    await expect.poll(() => responses.length).toBe(count);
    // Two requests always wait for their responses.
    responses[count - 3]!.end('done');
  }
  expect(socket.closed).toBe(false);
});
