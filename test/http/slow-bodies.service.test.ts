import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Viewer } from '../../src/auth/viewer.ts';
import { AppError } from '../../src/errors.ts';
import {
  createFileBodyHook,
  FILE_BODY_LIMIT_BYTES,
  MIN_BYTES_PER_SECOND,
  RATE_SECONDS,
} from '../../src/http/file-bodies.ts';

const LARGE = 4 * 1024 * 1024;
const ENOUGH = MIN_BYTES_PER_SECOND * RATE_SECONDS;

let app: FastifyInstance;
let receivedBytes: number;
const sockets: Socket[] = [];
/** What runs every second. */
const ticks = new Set<() => void>();
let now: number;

function pass(seconds: number): void {
  for (let second = 0; second < seconds; second++) {
    now += 1_000;
    for (const tick of [...ticks]) tick();
  }
}

beforeEach(async () => {
  receivedBytes = 0;
  now = 0;
  app = Fastify();
  app.addHook('preParsing', async (request, _reply, payload) => {
    request.viewer = { userId: request.headers['x-user'] ?? 'usr_1' } as Viewer;
    return payload;
  });
  const everySecond = (tick: () => void) => {
    ticks.add(tick);
    return () => ticks.delete(tick);
  };
  app.addHook(
    'preParsing',
    createFileBodyHook({ perAccount: 1, perProcess: 1 }, everySecond, () => now),
  );
  app.addHook('preParsing', async (_request, _reply, payload) => {
    payload.on('data', (chunk: Buffer) => {
      receivedBytes += chunk.length;
    });
    return payload;
  });
  app.setErrorHandler((error, _request, reply) => reply.code(error instanceof AppError ? error.status : 500).send());
  app.post('/', { bodyLimit: FILE_BODY_LIMIT_BYTES }, async () => ({}));
  await app.listen({ port: 0, host: '127.0.0.1' });
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await app.close();
});

type Way = 'with a length' | 'in chunks';

/** Sends the head of a request. The test sends its body. */
async function start(way: Way, user = 'usr_1') {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  sockets.push(socket);
  await once(socket, 'connect');
  const length = way === 'in chunks' ? 'Transfer-Encoding: chunked' : `Content-Length: ${LARGE}`;
  socket.write(
    `POST / HTTP/1.1\r\nHost: localhost\r\nX-User: ${user}\r\nContent-Type: application/json\r\n${length}\r\n\r\n`,
  );
  const status = once(socket, 'data').then(([data]) => String(data).split(' ', 2)[1]);
  const write = (bytes: number) =>
    socket.write(way === 'in chunks' ? `${bytes.toString(16)}\r\n${' '.repeat(bytes)}\r\n` : ' '.repeat(bytes));
  return {
    status,
    write,
    /** Resolves once the service has received it. */
    async send(bytes: number) {
      const before = receivedBytes;
      write(bytes);
      await expect.poll(() => receivedBytes - before).toBe(bytes);
    },
  };
}

describe.each<Way>(['with a length', 'in chunks'])('a large body %s', (way) => {
  test('gets 408 if it arrives too slowly, and another one takes its place', async () => {
    const slow = await start(way);
    await slow.send(ENOUGH);
    pass(RATE_SECONDS);
    await slow.send(ENOUGH - 1);
    const refused = await start(way);
    if (way === 'in chunks') refused.write(ENOUGH);
    expect(await refused.status).toBe('429');
    pass(RATE_SECONDS);
    expect(await slow.status).toBe('408');
    const next = await start(way);
    await next.send(ENOUGH);
    pass(RATE_SECONDS);
    await next.send(ENOUGH);
  });

  test('keeps its place if it arrives at the minimum rate', async () => {
    const body = await start(way);
    for (let time = 0; time < 4; time++) {
      await body.send(ENOUGH);
      pass(RATE_SECONDS);
    }
    expect(receivedBytes).toBe(4 * ENOUGH);
    expect(ticks.size).toBe(1);
  });
});

test.each<Way>(['with a length', 'in chunks'])(
  'a large body %s loses its place to another account’s if it takes too long',
  async (way) => {
    const first = await start(way);
    await first.send(ENOUGH);
    const refused = await start(way, 'usr_2');
    if (way === 'in chunks') refused.write(ENOUGH);
    expect(await refused.status).toBe('503');
    pass(RATE_SECONDS);
    await first.send(ENOUGH);
    pass(1);
    const other = await start(way, 'usr_2');
    await other.send(ENOUGH);
    expect(await first.status).toBe('503');
  },
);

test('a body that is complete is no longer timed', async () => {
  const response = await fetch(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify('x'.repeat(LARGE)),
  });
  expect(response.status).toBe(200);
  await expect.poll(() => ticks.size).toBe(0);
});
