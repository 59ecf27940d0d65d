import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { startTransport, TRANSPORTS, type Transport, trustServers } from './transports.ts';

trustServers();

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';
const okWith = (body: string) => `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\ndo\r\n2\r\nne\r\n0\r\n\r\n';
const UNTIL_CLOSED = 'HTTP/1.1 200 OK\r\n\r\ndone';

/** A server that sends these chunks, one after the other, for each request. The last one is empty to close after it. */
const serve = (transport: Transport, chunks: string[]) =>
  startTransport(transport, (socket) => {
    socket.setNoDelay(true);
    socket.on('data', async (data) => {
      if (!data.includes('HTTP/1.1')) return;
      for (const chunk of chunks) {
        if (chunk === '') socket.end();
        else socket.write(chunk);
        await turn();
      }
    });
  });

describe.each(TRANSPORTS)('informational responses that no request asked for are skipped over %s', (transport) => {
  test.each([
    ['one', [CONTINUE + okWith('done')]],
    ['one in a separate packet', [CONTINUE, okWith('done')]],
    ['many', [CONTINUE.repeat(15), CONTINUE.repeat(15) + okWith('done')]],
    ['with header fields', ['HTTP/1.1 100 Continue\r\nDate: now\r\nServer: x\r\n\r\n', okWith('done')]],
    ['without a reason', ['HTTP/1.1 100\r\n\r\n', okWith('done')]],
    ['byte by byte', [...(CONTINUE + CONTINUE + okWith('done'))]],
    ['before and after others', [CONTINUE, HINTS, CONTINUE, okWith('done')]],
    ['others alone', ['HTTP/1.1 102 Processing\r\n\r\n'.repeat(5) + okWith('done')]],
    ['before a chunked response', [CONTINUE, ...CHUNKED]],
  ])('%s', async (_name, chunks) => {
    await using server = await serve(transport, chunks);
    for (const method of ['GET', 'POST', 'PUT', 'GET', 'POST']) {
      const body = method === 'GET' ? {} : { body: Buffer.from('{}') };
      const response = await server.egress.get(server.url, { method, ...body });
      expect([response.statusCode, response.body.toString()]).toEqual([200, 'done']);
    }
    expect(server.connectionCount()).toBe(1);
  });

  test('any number, for callers that stream', async () => {
    await using server = await serve(transport, [CONTINUE.repeat(1_000), okWith('done')]);
    const { origin } = new URL(server.url);
    const response = await server.egress.dispatcherFor('someone').request({ origin, path: '/', method: 'GET' });
    expect([response.statusCode, await response.body.text()]).toEqual([200, 'done']);
  });

  test('before a response that ends with the connection', async () => {
    await using server = await serve(transport, [CONTINUE, UNTIL_CLOSED, '']);
    const { body } = await server.egress.get(server.url);
    expect(body.toString()).toBe('done');
  });

  test('before a response without a body', async () => {
    await using server = await serve(transport, [CONTINUE, 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n']);
    expect(await server.egress.get(server.url, { method: 'HEAD' })).toMatchObject({ statusCode: 200 });
  });

  test('while the request is still being sent', async () => {
    await using server = await serve(transport, [CONTINUE, CONTINUE, okWith('done')]);
    const body = new PassThrough();
    body.write('the first part');
    const { origin } = new URL(server.url);
    const dispatcher = server.egress.dispatcherFor('someone');
    const response = await dispatcher.request({ origin, path: '/', method: 'POST', body });
    expect([response.statusCode, await response.body.text()]).toEqual([200, 'done']);
  });

  test('but not in a body that looks like one', async () => {
    const body = `${CONTINUE}HTTP/1.1 200 OK\r\n\r\n`;
    const head = `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`;
    await using server = await serve(transport, [head, body.slice(0, 4), body.slice(4)]);
    const response = await server.egress.get(server.url);
    expect(response.body.toString()).toBe(body);
  });

  test('and a server that sends nothing else gets an error', async () => {
    await using server = await serve(transport, [CONTINUE, '']);
    expect(await server.egress.failureOf(server.url)).toMatchObject({ errorClass: 'connection_reset' });
  });

  test('and a server that sends them without end gets an error', async () => {
    await using server = await serve(transport, [CONTINUE.repeat(1_000)]);
    expect(await server.egress.failureOf(server.url)).toMatchObject({ errorClass: 'protocol_error' });
  });
});
