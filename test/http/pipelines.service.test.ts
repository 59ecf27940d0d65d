import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { limitPipelines } from '../../src/http/pipelines.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A server that responds when the test says so, and a connection to it. */
async function open() {
  const responses: ServerResponse[] = [];
  const server = createServer((_request, response) => void responses.push(response));
  limitPipelines(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
  closers.push(
    () => server.close(),
    () => socket.destroy(),
  );
  const closed = new Promise((resolve) => socket.once('close', () => resolve('closed')));
  const send = (count: number) => socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(count));
  return { responses, socket, closed, send };
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
