import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { toEgressError } from '../../src/egress/egress-error.ts';
import { CERTIFICATE, PRIVATE_KEY } from './certificate.ts';
import { startRawServer } from './raw-server.ts';
import { createTestEgress } from './support.ts';

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
