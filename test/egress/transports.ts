import type { Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates, TLSSocket } from 'node:tls';
import { afterAll, beforeAll } from 'vitest';
import { parseEgressProxy } from '../../src/egress/proxy.ts';
import { CERTIFICATE, PRIVATE_KEY } from './certificate.ts';
import { startRawServer } from './raw-server.ts';
import { createTestEgress, loopback } from './support.ts';

/** The ways to reach a server. */
export const TRANSPORTS = ['HTTP', 'HTTPS', 'HTTP through a proxy', 'HTTPS through a proxy'] as const;

export type Transport = (typeof TRANSPORTS)[number];

/** Trusts the certificate of `startTransport` while the tests of a file run. */
export function trustServers(): void {
  const trustedBefore = getCACertificates('default');
  beforeAll(() => setDefaultCACertificates([...trustedBefore, CERTIFICATE]));
  afterAll(() => setDefaultCACertificates(trustedBefore));
}

/**
 * Starts a server that sends whatever `onConnection` writes, and an egress that reaches it at `url`. If there is a proxy,
 * it is the same process: it opens the tunnel and then is the server, so that nothing is between the two ends.
 *
 * @param onConnection gets the connection and, with TLS, the TCP connection below it.
 */
export async function startTransport(transport: Transport, onConnection: (socket: Socket, tcp: Socket) => void) {
  const isSecure = transport.startsWith('HTTPS');
  const isProxied = transport.endsWith('proxy');

  function serve(tcp: Socket): void {
    if (!isSecure) {
      onConnection(tcp, tcp);
      return;
    }
    const secure = new TLSSocket(tcp, { isServer: true, cert: CERTIFICATE, key: PRIVATE_KEY });
    secure.on('error', () => secure.destroy()).once('secure', () => onConnection(secure, tcp));
  }

  function openTunnel(tcp: Socket): void {
    tcp.once('data', () => {
      tcp.write('HTTP/1.1 200 OK\r\n\r\n');
      serve(tcp);
    });
  }

  const server = await startRawServer(isProxied ? openTunnel : serve);
  const egress = createTestEgress({
    allow: loopback(server),
    lookup: async () => ['127.0.0.1'],
    proxy: isProxied ? parseEgressProxy(`http://127.0.0.1:${server.port}`) : undefined,
  });
  return {
    egress,
    url: `${isSecure ? 'https' : 'http'}://receiver.test:${server.port}/`,
    connectionCount: server.connectionCount,
    async [Symbol.asyncDispose]() {
      await egress.close();
      await server.close();
    },
  };
}
