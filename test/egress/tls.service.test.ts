import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { toEgressError } from '../../src/egress/egress-error.ts';
import { CERTIFICATE, PRIVATE_KEY } from './certificate.ts';
import { startRawServer } from './raw-server.ts';
import { createTestEgress, loopback } from './support.ts';

const serverNames: unknown[] = [];
const hosts: unknown[] = [];
const server = createServer({ cert: CERTIFICATE, key: PRIVATE_KEY }, (request, response) => {
  serverNames.push((request.socket as import('node:tls').TLSSocket).servername);
  hosts.push(request.headers.host);
  response.end('secure');
});
let port = 0;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => new Promise<void>((resolve) => void server.close(() => resolve()).closeAllConnections()));

const ECDHE_RSA_AES_128_GCM = 0xc02f;
/** https://www.iana.org/assignments/tls-parameters/tls-parameters.xhtml#tls-parameters-4 */
const DHE = new Set([
  ...[0x16, 0x33, 0x39, 0x45, 0x67, 0x6b, 0x88, 0x9e, 0x9f, 0xbe, 0xc4, 0xc052, 0xc053, 0xc09e, 0xc09f, 0xc0a2, 0xc0a3],
  0xccaa,
]);

/** The cipher suites in a client's first message (RFC 8446 §4.1.2). */
function cipherSuitesIn(hello: Buffer): number[] {
  // The record's header, the message's header, the version, and the random value come before the session ID.
  const sessionId = 5 + 4 + 2 + 32;
  const start = sessionId + 1 + hello[sessionId]!;
  const count = hello.readUInt16BE(start) / 2;
  return Array.from({ length: count }, (_, index) => hello.readUInt16BE(start + 2 + 2 * index));
}

const testEgress = () => createTestEgress({ allow: `127.0.0.1/32:${port}`, lookup: async () => ['127.0.0.1'] });

describe('a secure connection', () => {
  test("fails if the certificate isn't trusted", async () => {
    await using egress = testEgress();
    const failure = await egress.failureOf(`https://receiver.test:${port}/`);
    expect(failure).toMatchObject({ errorClass: 'tls_error' });
    expect(failure.message).toContain('DEPTH_ZERO_SELF_SIGNED_CERT');
  });

  test.each([
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'The server requires a client certificate'],
    ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', 'It may require a client certificate, or another one'],
    ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', 'It may require a client certificate, or another one'],
    ['SELF_SIGNED_CERT_IN_CHAIN', "The server's certificate doesn't come from an authority that is trusted for it"],
  ])('that fails with %s names what the server wants', (code, message) => {
    const failure = toEgressError(Object.assign(new Error('raw'), { code }));
    expect(failure.errorClass).toBe('tls_error');
    expect(failure.message).toContain(`${message} (${code}).`);
  });

  test("fails if the server doesn't speak TLS", async () => {
    await using plain = await startRawServer(
      (socket) => void socket.once('data', () => socket.end('HTTP/1.1 400 No\r\n\r\n')),
    );
    await using egress = createTestEgress({ allow: `127.0.0.1/32:${plain.port}` });
    expect(await egress.failureOf(`https://127.0.0.1:${plain.port}/`)).toMatchObject({ errorClass: 'tls_error' });
  });

  test('offers no key exchange with numbers that the server chooses, which could take seconds', async () => {
    const hello = Promise.withResolvers<Buffer>();
    await using server = await startRawServer((socket) => void socket.once('data', hello.resolve));
    await using egress = createTestEgress({ allow: loopback(server), connectTimeoutMilliseconds: 200 });
    await egress.failureOf(`https://127.0.0.1:${server.port}/`);
    const suites = cipherSuitesIn(await hello.promise);
    expect(suites).toContain(ECDHE_RSA_AES_128_GCM);
    expect(suites.filter((suite) => DHE.has(suite))).toEqual([]);
  });

  test('times out after the connect timeout', async () => {
    await using silent = await startRawServer();
    await using egress = createTestEgress({ allow: `127.0.0.1/32:${silent.port}`, connectTimeoutMilliseconds: 200 });
    expect(await egress.failureOf(`https://127.0.0.1:${silent.port}/`)).toMatchObject({
      errorClass: 'connect_timeout',
    });
  });

  describe('to a server with a trusted certificate', () => {
    const trustedBefore = getCACertificates('default');
    beforeAll(() => setDefaultCACertificates([...trustedBefore, CERTIFICATE]));
    afterAll(() => setDefaultCACertificates(trustedBefore));

    test("goes to the checked address under the URL's name", async () => {
      await using egress = testEgress();
      const answer = await egress.get(`https://receiver.test:${port}/`);
      expect(answer.body.toString()).toBe('secure');
      expect(serverNames).toEqual(['receiver.test']);
      expect(hosts).toEqual([`receiver.test:${port}`]);
    });

    test.each(['another.test', '127.0.0.1'])("fails if the certificate isn't for %s", async (host) => {
      await using egress = testEgress();
      const failure = await egress.failureOf(`https://${host}:${port}/`);
      expect(failure).toMatchObject({ errorClass: 'tls_error' });
      expect(failure.message).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
    });
  });
});
