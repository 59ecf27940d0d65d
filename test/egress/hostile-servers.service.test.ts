import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { startReceiver } from '../support/receiver.ts';
import { startRawServer } from './raw-server.ts';
import { createTestEgress, loopback } from './support.ts';

const urlOf = ({ port }: { port: number }) => `http://127.0.0.1:${port}/`;

/** Writes `chunk` repeatedly until the connection closes. */
function repeat(socket: Socket, chunk: string, milliseconds: number): void {
  const timer = setInterval(() => socket.write(chunk), milliseconds);
  socket.on('close', () => clearInterval(timer));
}

describe('a request to a hostile or broken server', () => {
  test('reads no more than the limit and cuts off an endless body', async () => {
    const closed = Promise.withResolvers<void>();
    await using server = await startRawServer((socket) => {
      socket.on('close', () => closed.resolve());
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      repeat(socket, 'x'.repeat(10_000), 1);
    });
    await using egress = createTestEgress({ allow: loopback(server) });
    const response = await egress.get(urlOf(server), { maxResponseBytes: 25_000 });
    expect(response).toMatchObject({ statusCode: 200, bodyTruncated: true });
    expect(response.body).toEqual(Buffer.alloc(25_000, 'x'));
    await closed.promise;
  });

  test('returns a body of exactly the limit in full', async () => {
    await using receiver = await startReceiver(() => ({ body: 'x'.repeat(100) }));
    await using egress = createTestEgress({ allow: loopback(receiver) });
    expect(await egress.get(receiver.url, { maxResponseBytes: 100 })).toMatchObject({ bodyTruncated: false });
    expect(await egress.get(receiver.url, { maxResponseBytes: 99 })).toMatchObject({ bodyTruncated: true });
  });

  test('cuts off a body in thousands of tiny chunks, because each chunk takes time and memory', async () => {
    const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
    await using server = await startRawServer((socket) =>
      socket.once('data', () => socket.end(`${head}${'1\r\nx\r\n'.repeat(60_000)}0\r\n\r\n`)),
    );
    await using egress = createTestEgress({ allow: loopback(server) });
    const response = await egress.get(urlOf(server), { maxResponseBytes: 65_536 });
    expect(response).toMatchObject({ statusCode: 200, bodyTruncated: true });
    expect(response.body.length).toBe(5_120);
    const longer = await egress.get(urlOf(server), { maxResponseBytes: 5_000_000 });
    expect(longer).toMatchObject({ bodyTruncated: false, body: Buffer.alloc(60_000, 'x') });
  });

  test('requests no compression and never decompresses', async () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000));
    await using receiver = await startReceiver(() => ({ headers: { 'content-encoding': 'gzip' }, body: bomb }));
    await using egress = createTestEgress({ allow: loopback(receiver) });
    expect((await egress.get(receiver.url)).body).toEqual(bomb);
    expect(receiver.requests[0]!.headers['accept-encoding']).toBe('identity');
  });

  test.each([
    ['a slow body', 'HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n', 'x'],
    ['slow headers', 'HTTP/1.1 200 OK\r\nx-slow: ', 'x'],
    ['early hints that never end', '', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'],
    ['silence', '', ''],
  ])('ends at its deadline, even with %s', async (_name, head, chunk) => {
    const closed = Promise.withResolvers<void>();
    await using server = await startRawServer((socket) => {
      socket.on('close', () => closed.resolve());
      socket.write(head);
      repeat(socket, chunk, 100);
    });
    await using egress = createTestEgress({ allow: loopback(server) });
    expect(await egress.failureOf(urlOf(server), { timeoutMilliseconds: 1_000 })).toMatchObject({
      errorClass: 'timeout',
    });
    await closed.promise;
  });

  test('aborts on a flood of early hints before its deadline', async () => {
    await using server = await startRawServer((socket) =>
      repeat(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(50), 1),
    );
    await using egress = createTestEgress({ allow: loopback(server) });
    expect(await egress.failureOf(urlOf(server))).toMatchObject({ errorClass: 'protocol_error' });
  });

  test('aborts on a flood of early hints, also for callers that stream', async () => {
    await using server = await startRawServer((socket) =>
      repeat(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(50), 1),
    );
    await using egress = createTestEgress({ allow: loopback(server) });
    const origin = new URL(urlOf(server)).origin;
    const request = egress.dispatcherFor('owner').request({ origin, path: '/', method: 'GET' });
    await expect(request).rejects.toMatchObject({ code: 'UND_ERR_HEADERS_OVERFLOW' });
  });

  test.each([
    ['trailers', `1\r\nx\r\n0\r\n${'a:\r\n'.repeat(3_000)}\r\n`, ''],
    ['extensions of a chunk', '1;', 'x'.repeat(10_000)],
  ])('aborts on a flood of %s, also for callers that stream', async (_what, start, flood) => {
    await using server = await startRawServer((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${start}`);
      repeat(socket, flood, 1);
    });
    await using egress = createTestEgress({ allow: loopback(server) });
    expect(await egress.failureOf(urlOf(server))).toMatchObject({ errorClass: 'protocol_error' });
    const origin = new URL(urlOf(server)).origin;
    const request = egress.dispatcherFor('owner').request({ origin, path: '/', method: 'GET' });
    await expect(request.then(({ body }) => body.text())).rejects.toMatchObject({ code: 'UND_ERR_HEADERS_OVERFLOW' });
  });

  test('reads the response after a few early hints', async () => {
    const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(3);
    await using server = await startRawServer((socket) => void socket.write(`${hints}HTTP/1.1 204 No Content\r\n\r\n`));
    await using egress = createTestEgress({ allow: loopback(server) });
    const response = await egress.get(urlOf(server));
    expect(response.statusCode).toBe(204);
    expect(response.headers.link).toBeUndefined();
  });

  test.each([
    ['headers of more than 16 KB', `HTTP/1.1 200 OK\r\nx-big: ${'x'.repeat(20_000)}\r\n\r\n`, 'protocol_error'],
    ['thousands of short headers', `HTTP/1.1 200 OK\r\n${'a:\r\n'.repeat(3_000)}\r\n`, 'protocol_error'],
    [
      'thousands of headers in early hints',
      `HTTP/1.1 103 Early Hints\r\n${'a:\r\n'.repeat(1_500)}\r\n`.repeat(2),
      'protocol_error',
    ],
    ["something that isn't HTTP", 'SSH-2.0-OpenSSH_9.2p1\r\n', 'protocol_error'],
    ['a body shorter than declared', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nx', 'connection_reset'],
    ['nothing', '', 'connection_reset'],
  ])('classifies the error when the server sends %s', async (_name, response, errorClass) => {
    await using server = await startRawServer((socket) => void socket.end(response));
    await using egress = createTestEgress({ allow: loopback(server) });
    expect(await egress.failureOf(urlOf(server))).toMatchObject({ errorClass });
  });

  test('reports a reset connection', async () => {
    await using server = await startRawServer((socket) => void socket.once('data', () => socket.resetAndDestroy()));
    await using egress = createTestEgress({ allow: loopback(server) });
    expect(await egress.failureOf(urlOf(server))).toMatchObject({ errorClass: 'connection_reset' });
  });

  test('reports a refused connection without the address', async () => {
    const server = await startRawServer();
    await server.close();
    await using egress = createTestEgress({ allow: loopback(server) });
    const failure = await egress.failureOf(urlOf(server));
    expect(failure.errorClass).toBe('connection_refused');
    expect(failure.message).not.toContain('127.0.0.1');
  });

  test('reports a name without addresses, or with failing or silent name servers', async () => {
    const responses: Record<string, () => Promise<string[]>> = {
      'empty.example': async () => [],
      'failing.example': () => Promise.reject(Object.assign(new Error('queryA'), { code: 'ESERVFAIL' })),
    };
    await using egress = createTestEgress({ lookup: (name) => responses[name]!() });
    for (const name of Object.keys(responses)) {
      expect(await egress.failureOf(`https://${name}/`), name).toMatchObject({ errorClass: 'dns_error' });
    }
    const lookup = () => Promise.withResolvers<string[]>().promise;
    await using impatient = createTestEgress({ connectTimeoutMilliseconds: 100, lookup });
    expect(await impatient.failureOf('https://silent.example/')).toMatchObject({ errorClass: 'dns_error' });
    expect((await egress.failureOf('https://failing.example/')).message).toContain('ESERVFAIL');
  });

  test('counts slow name resolution toward its deadline', async () => {
    await using egress = createTestEgress({
      lookup: () => Promise.withResolvers<string[]>().promise,
      connectTimeoutMilliseconds: 2_000,
    });
    const failure = await egress.failureOf('https://silent.example/', { timeoutMilliseconds: 100 });
    expect(failure.errorClass).toBe('timeout');
  });
});
