import { gzipSync } from 'node:zlib';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { startRawServer } from './raw-server.ts';
import { createTestEgress } from './support.ts';

const loopback = (...servers: { port: number }[]) => servers.map(({ port }) => `127.0.0.1/32:${port}`).join(',');
const urlOf = ({ port }: { port: number }) => `http://127.0.0.1:${port}/`;

/** Writes `chunk` again and again, each `milliseconds`, until the connection is gone. */
function repeat(socket: import('node:net').Socket, chunk: string, milliseconds: number): void {
  const timer = setInterval(() => socket.write(chunk), milliseconds);
  socket.on('close', () => clearInterval(timer));
}

describe('a request', () => {
  it('sends method, path, headers and body as given, and returns status, headers and body', async () => {
    await using receiver = await startReceiver(() => ({
      statusCode: 418,
      headers: { 'x-a': ['1', '2'] },
      body: 'tea',
    }));
    await using egress = createTestEgress({ allow: loopback(receiver) });
    const headers = { 'content-type': 'application/json', 'webhook-id': 'evt_1' };
    const answer = await egress.get(`${receiver.url}/a/b?c=d`, {
      method: 'POST',
      headers,
      body: Buffer.from('{"é":1}'),
    });
    expect(answer).toMatchObject({ statusCode: 418, headers: { 'x-a': ['1', '2'] }, bodyTruncated: false });
    expect(answer.body.toString()).toBe('tea');
    expect(answer.durationMilliseconds).toBeGreaterThanOrEqual(0);
    const received = receiver.requests[0]!;
    expect(received).toMatchObject({
      method: 'POST',
      path: '/a/b?c=d',
      headers: { ...headers, 'content-length': '8' },
    });
    expect(received.body.toString()).toBe('{"é":1}');
  });

  it('uses a connection again for the requests that follow', async () => {
    await using receiver = await startReceiver();
    await using egress = createTestEgress({ allow: loopback(receiver) });
    for (let count = 0; count < 20; count++) await egress.get(receiver.url);
    // A connection rests for one turn of the event loop between two requests, so two of them take turns.
    expect(receiver.connectionCount()).toBeLessThanOrEqual(2);
  });

  it('is one of more than a thousand that are under way at once', async () => {
    const gate = Promise.withResolvers<undefined>();
    const hold = async () => {
      await gate.promise;
      return {};
    };
    const receivers: Receiver[] = [];
    for (let count = 0; count < 10; count++) receivers.push(await startReceiver(hold));
    await using egress = createTestEgress({ allow: loopback(...receivers) });
    const answers = receivers.flatMap(({ url }) => Array.from({ length: 110 }, () => egress.get(url)));
    await Promise.all(receivers.map((receiver) => receiver.waitFor(110)));
    gate.resolve(undefined);
    const statusCodes = (await Promise.all(answers)).map((answer) => answer.statusCode);
    expect(statusCodes).toEqual(Array.from({ length: 1_100 }, () => 200));
    await Promise.all(receivers.map((receiver) => receiver.close()));
  });

  it('waits for a free connection when its origin has no more of them, and may be given up meanwhile', async () => {
    const gate = Promise.withResolvers<undefined>();
    await using receiver = await startReceiver(async (_request, _response, index) => {
      if (index === 0) await gate.promise;
      return {};
    });
    await using egress = createTestEgress({ allow: loopback(receiver), connectionsPerOrigin: 1 });
    const first = egress.get(`${receiver.url}/first`);
    await receiver.waitFor(1);
    expect(await egress.failureOf(`${receiver.url}/late`, { timeoutMilliseconds: 50 })).toMatchObject({
      errorClass: 'timeout',
    });
    gate.resolve(undefined);
    await first;
    await egress.get(`${receiver.url}/third`);
    expect(receiver.requests.map(({ path }) => path)).toEqual(['/first', '/third']);
    expect(receiver.connectionCount()).toBe(1);
  });

  it('reads no more than it was told and cuts an endless body', async () => {
    const closed = Promise.withResolvers<void>();
    await using server = await startRawServer((socket) => {
      socket.on('close', () => closed.resolve());
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      repeat(socket, 'x'.repeat(10_000), 1);
    });
    await using egress = createTestEgress({ allow: loopback(server) });
    const answer = await egress.get(urlOf(server), { maxResponseBytes: 25_000 });
    expect(answer).toMatchObject({ statusCode: 200, bodyTruncated: true });
    expect(answer.body).toEqual(Buffer.alloc(25_000, 'x'));
    await closed.promise;
  });

  it('returns a body of exactly the limit whole', async () => {
    await using receiver = await startReceiver(() => ({ body: 'x'.repeat(100) }));
    await using egress = createTestEgress({ allow: loopback(receiver) });
    expect(await egress.get(receiver.url, { maxResponseBytes: 100 })).toMatchObject({ bodyTruncated: false });
    expect(await egress.get(receiver.url, { maxResponseBytes: 99 })).toMatchObject({ bodyTruncated: true });
  });

  it('asks for no compression and never inflates', async () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000));
    await using receiver = await startReceiver(() => ({ headers: { 'content-encoding': 'gzip' }, body: bomb }));
    await using egress = createTestEgress({ allow: loopback(receiver) });
    expect((await egress.get(receiver.url)).body).toEqual(bomb);
    expect(receiver.requests[0]!.headers['accept-encoding']).toBe('identity');
  });

  it.each([
    ['a body that drips', 'HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n', 'x'],
    ['headers that drip', 'HTTP/1.1 200 OK\r\nx-slow: ', 'x'],
    ['early hints that never end', '', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'],
    ['silence', '', ''],
  ])('ends at its deadline whatever comes: %s', async (_name, head, chunk) => {
    const closed = Promise.withResolvers<void>();
    await using server = await startRawServer((socket) => {
      socket.on('close', () => closed.resolve());
      socket.write(head);
      repeat(socket, chunk, 20);
    });
    await using egress = createTestEgress({ allow: loopback(server) });
    expect(await egress.failureOf(urlOf(server), { timeoutMilliseconds: 300 })).toMatchObject({
      errorClass: 'timeout',
    });
    await closed.promise;
  });

  it('gives up on a flood of early hints before its deadline', async () => {
    await using server = await startRawServer((socket) =>
      repeat(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(50), 1),
    );
    await using egress = createTestEgress({ allow: loopback(server) });
    expect(await egress.failureOf(urlOf(server))).toMatchObject({ errorClass: 'protocol_error' });
  });

  it('reads the answer that follows a few early hints', async () => {
    const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(3);
    await using server = await startRawServer((socket) => void socket.write(`${hints}HTTP/1.1 204 No Content\r\n\r\n`));
    await using egress = createTestEgress({ allow: loopback(server) });
    const answer = await egress.get(urlOf(server));
    expect(answer.statusCode).toBe(204);
    expect(answer.headers.link).toBeUndefined();
  });

  it.each([
    ['headers of more than 16 KB', `HTTP/1.1 200 OK\r\nx-big: ${'x'.repeat(20_000)}\r\n\r\n`, 'protocol_error'],
    ['something that is not HTTP', 'SSH-2.0-OpenSSH_9.2p1\r\n', 'protocol_error'],
    ['a body shorter than announced', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nx', 'connection_reset'],
    ['nothing', '', 'connection_reset'],
  ])('names the failure when the server sends %s', async (_name, answer, errorClass) => {
    await using server = await startRawServer((socket) => void socket.end(answer));
    await using egress = createTestEgress({ allow: loopback(server) });
    expect(await egress.failureOf(urlOf(server))).toMatchObject({ errorClass });
  });

  it('names a connection that is reset', async () => {
    await using server = await startRawServer((socket) => void socket.once('data', () => socket.resetAndDestroy()));
    await using egress = createTestEgress({ allow: loopback(server) });
    expect(await egress.failureOf(urlOf(server))).toMatchObject({ errorClass: 'connection_reset' });
  });

  it('names a connection that is refused, without the address', async () => {
    const server = await startRawServer();
    await server.close();
    await using egress = createTestEgress({ allow: loopback(server) });
    const failure = await egress.failureOf(urlOf(server));
    expect(failure.errorClass).toBe('connection_refused');
    expect(failure.message).not.toContain('127.0.0.1');
  });

  it('names a name that has no address, or whose name servers fail or stay silent', async () => {
    const answers: Record<string, () => Promise<string[]>> = {
      'empty.example': async () => [],
      'failing.example': () => Promise.reject(Object.assign(new Error('queryA'), { code: 'ESERVFAIL' })),
      'silent.example': () => Promise.withResolvers<string[]>().promise,
    };
    await using egress = createTestEgress({ connectTimeoutMilliseconds: 100, lookup: (name) => answers[name]!() });
    for (const name of Object.keys(answers)) {
      expect(await egress.failureOf(`https://${name}/`), name).toMatchObject({ errorClass: 'dns_error' });
    }
    expect((await egress.failureOf('https://failing.example/')).message).toContain('ESERVFAIL');
  });

  it('counts a slow name resolution towards its deadline', async () => {
    await using egress = createTestEgress({
      lookup: () => Promise.withResolvers<string[]>().promise,
      connectTimeoutMilliseconds: 500,
    });
    const failure = await egress.failureOf('https://silent.example/', { timeoutMilliseconds: 100 });
    expect(failure.errorClass).toBe('timeout');
  });

  it('ends when its caller gives it up', async () => {
    const closed = Promise.withResolvers<void>();
    await using receiver = await startReceiver((_request, response) => {
      response.on('close', () => closed.resolve());
      return undefined;
    });
    await using egress = createTestEgress({ allow: loopback(receiver) });
    const controller = new AbortController();
    const failure = egress.failureOf(receiver.url, { signal: controller.signal });
    await receiver.waitFor(1);
    controller.abort();
    expect(await failure).toMatchObject({ errorClass: 'aborted' });
    await closed.promise;
    expect(await egress.failureOf(receiver.url, { signal: controller.signal })).toMatchObject({
      errorClass: 'aborted',
    });
    expect(receiver.requests).toHaveLength(1);
  });

  it('is refused by an egress that is closed', async () => {
    await using receiver = await startReceiver();
    const egress = createTestEgress({ allow: loopback(receiver) });
    await egress.get(receiver.url);
    await egress.close();
    expect(await egress.failureOf(receiver.url)).toMatchObject({ errorClass: 'aborted' });
  });

  it('is in flight no more when closing ends', async () => {
    const gate = Promise.withResolvers<undefined>();
    await using receiver = await startReceiver(async () => {
      await gate.promise;
      return { statusCode: 202 };
    });
    const egress = createTestEgress({ allow: loopback(receiver) });
    const answer = egress.get(receiver.url);
    await receiver.waitFor(1);
    const closing = egress.close();
    gate.resolve(undefined);
    expect((await answer).statusCode).toBe(202);
    await closing;
  });

  it('can be streamed through the guarded dispatcher', async () => {
    await using receiver = await startReceiver(() => ({ body: 'streamed' }));
    await using egress = createTestEgress({ allow: loopback(receiver) });
    const { statusCode, body } = await request(receiver.url, { dispatcher: egress.dispatcher });
    expect([statusCode, await body.text()]).toEqual([200, 'streamed']);
  });
});

describe('fetchJson', () => {
  it('returns the document', async () => {
    await using receiver = await startReceiver(() => ({ body: '{"keys":[]}' }));
    await using egress = createTestEgress({ allow: loopback(receiver) });
    const document = await egress.fetchJson(receiver.url, { timeoutMilliseconds: 5_000, maxBytes: 100 });
    expect(document).toEqual({ keys: [] });
  });

  it.each([
    ['another status', { statusCode: 404, body: '{}' }, 'status 404'],
    ['a redirect', { statusCode: 302, headers: { location: '/elsewhere' } }, 'status 302'],
    ['something else than JSON', { body: '<html>' }, 'not JSON'],
    ['too much', { body: `"${'x'.repeat(100)}"` }, 'larger than 100 bytes'],
  ])('fails on %s', async (_name, answer, message) => {
    await using receiver = await startReceiver(() => answer);
    await using egress = createTestEgress({ allow: loopback(receiver) });
    const fetched = egress.fetchJson(receiver.url, { timeoutMilliseconds: 5_000, maxBytes: 100 });
    await expect(fetched).rejects.toMatchObject({
      errorClass: 'protocol_error',
      message: expect.stringContaining(message),
    });
  });

  it('is guarded like every request', async () => {
    await using receiver = await startReceiver();
    await using egress = createTestEgress();
    const fetched = egress.fetchJson(receiver.url, { timeoutMilliseconds: 5_000, maxBytes: 100 });
    await expect(fetched).rejects.toMatchObject({ errorClass: 'target_not_allowed' });
    expect(receiver.connectionCount()).toBe(0);
  });
});
