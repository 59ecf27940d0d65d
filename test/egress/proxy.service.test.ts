import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseEgressProxy } from '../../src/egress/proxy.ts';
import { startConnectProxy } from '../support/connect-proxy.ts';
import { startReceiver } from '../support/receiver.ts';
import { CERTIFICATE, PRIVATE_KEY } from './certificate.ts';
import { startRawServer } from './raw-server.ts';
import { createTestEgress, loopback } from './support.ts';

// The proxies in these tests forward connections to this public address to the server below.
const ADDRESS = '93.184.216.34';
const ADDRESS_V6 = '2606:4700:4700::1111';
const URL_BY_NAME = 'https://receiver.test/hook';
const PROXY_ERROR = { errorClass: 'proxy_error', message: "Our proxy for outgoing requests didn't open a connection." };

const received: { servername: unknown; host: unknown; client: unknown }[] = [];
let connectionCount = 0;
const server = createServer({ cert: CERTIFICATE, key: PRIVATE_KEY }, ({ headers, socket }, response) => {
  const { servername, remotePort } = socket as TLSSocket & { servername: unknown };
  received.push({ servername, host: headers.host, client: remotePort });
  response.end('secure');
}).on('connection', () => connectionCount++);
let port = 0;
const trustedBefore = getCACertificates('default');

beforeAll(async () => {
  setDefaultCACertificates([...trustedBefore, CERTIFICATE]);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(async () => {
  setDefaultCACertificates(trustedBefore);
  await new Promise<void>((resolve) => void server.close(() => resolve()).closeAllConnections());
});

type Options = Parameters<typeof createTestEgress>[0];

const throughProxy = (proxyUrl: string, options: Options = {}) =>
  createTestEgress({ lookup: async () => [ADDRESS], ...options, proxy: parseEgressProxy(proxyUrl) });
const routes = () => ({ [`${ADDRESS}:443`]: port, [`[${ADDRESS_V6}]:443`]: port });

describe('with a proxy, the egress', () => {
  test('resolves the name itself, and makes the proxy connect to the checked address', async () => {
    await using proxy = await startConnectProxy({ routes: routes() });
    await using egress = throughProxy(proxy.url);
    const { body, phases } = await egress.get(URL_BY_NAME);
    expect(body.toString()).toBe('secure');
    expect(egress.lookups).toEqual(['receiver.test']);
    expect(proxy.targets).toEqual([`${ADDRESS}:443`]);
    expect(received.at(-1)).toMatchObject({ servername: 'receiver.test', host: 'receiver.test' });
    expect(phases).toEqual({
      dnsMs: expect.any(Number),
      connectMs: expect.any(Number),
      tlsMs: expect.any(Number),
      firstByteMs: expect.any(Number),
    });
  });

  test('connects to IPv6 addresses', async () => {
    await using proxy = await startConnectProxy({ routes: routes() });
    await using egress = throughProxy(proxy.url, { lookup: async () => [ADDRESS_V6] });
    expect((await egress.get(URL_BY_NAME)).statusCode).toBe(200);
    expect(proxy.targets).toEqual([`[${ADDRESS_V6}]:443`]);
  });

  test('keeps connections open', async () => {
    await using proxy = await startConnectProxy({ routes: routes() });
    await using egress = throughProxy(proxy.url);
    const before = connectionCount;
    for (let count = 0; count < 3; count++) expect((await egress.get(URL_BY_NAME)).statusCode).toBe(200);
    expect(proxy.targets).toHaveLength(1);
    expect(connectionCount - before).toBe(1);
    expect(new Set(received.slice(-3).map(({ client }) => client)).size).toBe(1);
  });

  test('also sends plain HTTP through a tunnel', async () => {
    await using receiver = await startReceiver();
    await using proxy = await startConnectProxy();
    await using egress = throughProxy(proxy.url, { allow: loopback(receiver), lookup: async () => ['127.0.0.1'] });
    const url = `http://api.example:${receiver.port}/`;
    for (let count = 0; count < 2; count++)
      expect((await egress.get(url, { method: 'POST', body: 'x' })).statusCode).toBe(200);
    expect(proxy.targets).toEqual([`127.0.0.1:${receiver.port}`]);
    expect(receiver.requests[0]).toMatchObject({ path: '/', headers: { host: `api.example:${receiver.port}` } });
    expect(receiver.requests[0]!.headers).not.toHaveProperty('proxy-authorization');
  });

  test('never asks the proxy to connect to an address that is not allowed', async () => {
    await using proxy = await startConnectProxy();
    await using egress = throughProxy(proxy.url, { lookup: async () => ['10.0.0.1', ADDRESS] });
    for (const url of [URL_BY_NAME, 'https://10.0.0.1/', `http://127.0.0.1:${proxy.port}/`, 'https://localhost/'])
      expect(await egress.failureOf(url)).toMatchObject({ errorClass: 'target_not_allowed' });
    expect(proxy.targets).toEqual([]);
  });

  test('sends the user name and password only to the proxy', async () => {
    await using receiver = await startReceiver();
    await using proxy = await startConnectProxy({ credentials: 'user:s3cret' });
    await using egress = throughProxy(proxy.url, { allow: loopback(receiver) });
    expect((await egress.get(receiver.url)).statusCode).toBe(200);
    expect(JSON.stringify(receiver.requests)).not.toMatch(/s3cret|proxy/i);
    await using wrong = throughProxy(proxy.url.replace('s3cret', 'wr0ng'), { allow: loopback(receiver) });
    const failure = await wrong.failureOf(receiver.url);
    expect(failure).toMatchObject(PROXY_ERROR);
    expect(wrong.warned).toEqual([
      {
        fields: { proxy: `127.0.0.1:${proxy.port}`, err: undefined },
        message: 'the proxy for outgoing requests responded with status 407',
      },
    ]);
    expect(JSON.stringify([wrong.warned, wrong.logged, failure])).not.toMatch(/wr0ng|Basic/);
    expect(receiver.connectionCount()).toBe(1);
  });

  test.each([302, 400, 403, 407, 500])('blames the proxy if it responds with %i', async (status) => {
    await using proxy = await startConnectProxy();
    proxy.failWith(status);
    await using egress = throughProxy(proxy.url, { lookup: async () => [ADDRESS, '1.1.1.1'] });
    expect(await egress.failureOf(URL_BY_NAME)).toMatchObject(PROXY_ERROR);
    // Trying another address wouldn't help.
    expect(proxy.targets).toHaveLength(1);
    expect(egress.warned).toHaveLength(1);
  });

  test.each([
    [502, 'connection_refused'],
    [503, 'connection_refused'],
    [504, 'connect_timeout'],
  ])('reports an unreachable server if the proxy responds with %i: %s', async (status, errorClass) => {
    await using proxy = await startConnectProxy();
    proxy.failWith(status);
    await using egress = throughProxy(proxy.url, { lookup: async () => [ADDRESS, '1.1.1.1'] });
    expect(await egress.failureOf(URL_BY_NAME)).toMatchObject({ errorClass });
    expect(proxy.targets).toEqual([`${ADDRESS}:443`, '1.1.1.1:443']);
    expect(egress.warned).toEqual([]);
  });

  test('gives up if the proxy does not respond in time, because it may be waiting for the server', async () => {
    await using proxy = await startConnectProxy();
    proxy.failWith('silence');
    await using egress = throughProxy(proxy.url, { connectTimeoutMilliseconds: 1_000 });
    expect(await egress.failureOf(URL_BY_NAME)).toMatchObject({ errorClass: 'connect_timeout' });
    expect(egress.warned).toEqual([]);
  });

  test('blames the proxy if it is down, and logs that at most once a minute', async () => {
    const gone = await startRawServer();
    await gone.close();
    await using egress = throughProxy(`http://user:s3cret@127.0.0.1:${gone.port}`);
    for (let count = 0; count < 3; count++) expect(await egress.failureOf(URL_BY_NAME)).toMatchObject(PROXY_ERROR);
    expect(egress.warned).toHaveLength(1);
    expect(egress.warned[0]!.message).toBe("the proxy for outgoing requests can't be reached");
    expect(JSON.stringify(egress.warned)).not.toContain('s3cret');
  });

  test.each([
    ['closes the connection', ''],
    ["doesn't speak HTTP", 'SSH-2.0-OpenSSH\r\n'],
    ['adds bytes to its response', 'HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'],
  ])('blames the proxy if it %s', async (_name, bytes) => {
    await using broken = await startRawServer((socket) => void socket.once('data', () => socket.end(bytes)));
    await using egress = throughProxy(`http://127.0.0.1:${broken.port}`);
    expect(await egress.failureOf(URL_BY_NAME)).toMatchObject(PROXY_ERROR);
  });

  test("doesn't log what a proxy that doesn't speak HTTP sends, because it can quote the password", async () => {
    await using quoting = await startRawServer((socket) => {
      socket.once('data', (request) => socket.end(`-ERR unknown command: ${request}`));
    });
    await using egress = throughProxy(`http://user:s3cret@127.0.0.1:${quoting.port}`);
    expect(await egress.failureOf(URL_BY_NAME)).toMatchObject(PROXY_ERROR);
    const logged = JSON.stringify(egress.warned.map(({ fields }) => Object.entries((fields as { err: Error }).err)));
    expect(logged).toContain('HPE_INVALID_CONSTANT');
    expect(logged).not.toContain([...Buffer.from('unknown command')].join());
  });

  test('reports a certificate that is not for the name', async () => {
    await using proxy = await startConnectProxy({ routes: routes() });
    await using egress = throughProxy(proxy.url);
    const failure = await egress.failureOf('https://another.test/');
    expect(failure).toMatchObject({ errorClass: 'tls_error' });
    expect(failure.message).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
  });

  test('reports a server that is silent during the handshake', async () => {
    await using silent = await startRawServer();
    await using proxy = await startConnectProxy({ routes: { [`${ADDRESS}:443`]: silent.port } });
    await using egress = throughProxy(proxy.url, { connectTimeoutMilliseconds: 1_000 });
    expect(await egress.failureOf(URL_BY_NAME)).toMatchObject({ errorClass: 'connect_timeout' });
  });

  test('recovers when the proxy comes back', async () => {
    await using proxy = await startConnectProxy({ routes: routes() });
    await using egress = throughProxy(proxy.url);
    proxy.failWith(403);
    expect(await egress.failureOf(URL_BY_NAME)).toMatchObject(PROXY_ERROR);
    proxy.failWith(undefined);
    expect((await egress.get(URL_BY_NAME)).statusCode).toBe(200);
  });

  test('reports a connection that the proxy closes in the middle of a response', async () => {
    const stalled = Promise.withResolvers<void>();
    await using receiver = await startReceiver((_request, response) => {
      response.write('half');
      stalled.resolve();
      return undefined;
    });
    const proxy = await startConnectProxy();
    await using egress = throughProxy(proxy.url, { allow: loopback(receiver) });
    const failure = egress.failureOf(receiver.url);
    await stalled.promise;
    await proxy.close();
    expect(await failure).toMatchObject({ errorClass: 'connection_reset' });
  });
});
