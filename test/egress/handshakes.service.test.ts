import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import {
  createSecureContext,
  createServer as createTlsServer,
  getCACertificates,
  setDefaultCACertificates,
} from 'node:tls';
import { describe, expect, test } from 'vitest';
import { createChain, ecKey, rsaKey } from './certificate-chain.ts';
import { createTestEgress } from './support.ts';

const TOO_LONG = 'take too long to check';

type Certificate = { cert: string; key: string };

/** A server with this certificate for `shop.test`, and those for other hosts, which counts the handshakes with it. */
async function startServer({ cert, key }: Certificate, others: Record<string, Certificate> = {}) {
  let handshakes = 0;
  const server = createServer(
    {
      cert,
      key,
      SNICallback: (name, done) => {
        handshakes++;
        done(null, others[name] && createSecureContext(others[name]));
      },
    },
    (_request, response) => response.setHeader('connection', 'close').end('secure'),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const egress = createTestEgress({ allow: `127.0.0.1/32:${port}`, lookup: async () => ['127.0.0.1'] });
  return {
    url: (host = 'shop.test') => `https://${host}:${port}/`,
    egress,
    handshakes: () => handshakes,
    async [Symbol.asyncDispose]() {
      await egress.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe('a server whose certificates are costly to check', () => {
  test.each([
    ['eleven certificates', () => createChain('shop.test', 11)],
    ['an RSA key with an unusual exponent', () => createChain('shop.test', 2, rsaKey)],
    ['a key on an unusual curve', () => createChain('shop.test', 2, () => ecKey('sect571r1'))],
    ['more than a thousand names', () => createChain('shop.test', 2, ecKey, { names: 1_001 })],
    ['names and constraints to compare', () => createChain('shop.test', 2, ecKey, { names: 110, constraints: 100 })],
  ])('gets no more connections for a minute, not even by other names: %s', async (_, chain) => {
    await using server = await startServer(chain());
    const { egress, url, handshakes } = server;
    expect((await egress.failureOf(url())).message).toContain('UNABLE_TO_GET_ISSUER_CERT');
    for (const host of ['shop.test', 'another.shop.test', 'another.test']) {
      const failure = await egress.failureOf(url(host));
      expect(failure.errorClass).toBe('tls_error');
      expect(failure.message).toContain(TOO_LONG);
    }
    expect(handshakes()).toBe(1);
  });

  test('gets only one connection, even if fifty are opened at the same time', async () => {
    await using server = await startServer(createChain('shop.test', 11));
    const { egress, url, handshakes } = server;
    const failures = await Promise.all(Array.from({ length: 50 }, () => egress.failureOf(url())));
    expect(handshakes()).toBe(1);
    expect(failures.filter(({ message }) => message.includes(TOO_LONG)).length).toBe(49);
  });

  test('but a domain at the same address that has had a trusted certificate gets more', async () => {
    const trusted = createChain('trusted.test', 1);
    const trustedBefore = getCACertificates('default');
    setDefaultCACertificates([...trustedBefore, trusted.root]);
    try {
      await using server = await startServer(createChain('shop.test', 11), { 'trusted.test': trusted });
      const { egress, url } = server;
      expect((await egress.get(url('trusted.test'))).body.toString()).toBe('secure');
      expect((await egress.failureOf(url())).message).not.toContain(TOO_LONG);
      expect((await egress.failureOf(url('another.test'))).message).toContain(TOO_LONG);
      expect((await egress.get(url('trusted.test'))).body.toString()).toBe('secure');
    } finally {
      setDefaultCACertificates(trustedBefore);
    }
  });

  test('even if they come from an authority that the webhook’s owner chose', async () => {
    const chain = createChain('shop.test', 11);
    await using server = await startServer(chain);
    const { egress, url, handshakes } = server;
    const tls = { id: 'own', certificateAuthority: chain.root };
    expect((await egress.get(url(), { tls })).body.toString()).toBe('secure');
    expect((await egress.failureOf(url(), { tls })).message).toContain(TOO_LONG);
    expect(handshakes()).toBe(1);
  });
});

test('a server can’t start another handshake on the same connection, with other certificates', async () => {
  const { cert, key, root } = createChain('shop.test', 1);
  let hasAgain = false;
  const server = createTlsServer({ cert, key, maxVersion: 'TLSv1.2' }, (socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.renegotiate({}, (error) => {
        hasAgain = !error;
      });
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await using egress = createTestEgress({ allow: `127.0.0.1/32:${port}`, lookup: async () => ['127.0.0.1'] });
  const tls = { id: 'own', certificateAuthority: root };
  await egress.failureOf(`https://shop.test:${port}/`, { tls, timeoutMilliseconds: 1_000 });
  expect(hasAgain).toBe(false);
  server.close();
});

describe('a server gets any number of connections', () => {
  test.each([
    [
      'untrusted, but usual ones',
      'UNABLE_TO_GET_ISSUER_CERT',
      () => createChain('shop.test', 3, () => ecKey('secp384r1')),
    ],
    [
      'untrusted, but have the usual numbers of names and constraints',
      'UNABLE_TO_GET_ISSUER_CERT',
      () => createChain('shop.test', 3, ecKey, { names: 100, constraints: 40 }),
    ],
    ['a single one for another name', 'UNABLE_TO_', () => createChain('another.test', 1)],
  ])('if its certificates are %s', async (_, code, chain) => {
    await using server = await startServer(chain());
    for (let count = 1; count <= 3; count++) {
      expect((await server.egress.failureOf(server.url())).message).toContain(code);
      expect(server.handshakes()).toBe(count);
    }
  });

  test('if a public authority has issued its certificate, even if it sends many others', async () => {
    const chain = createChain('shop.test', 1);
    const others = createChain('others.test', 11).cert;
    const trustedBefore = getCACertificates('default');
    setDefaultCACertificates([...trustedBefore, chain.root]);
    try {
      await using server = await startServer({ ...chain, cert: chain.cert + others });
      for (let count = 1; count <= 3; count++) {
        expect((await server.egress.get(server.url())).body.toString()).toBe('secure');
      }
      const together = Array.from({ length: 50 }, () => server.egress.get(server.url()));
      expect((await Promise.all(together)).map(({ statusCode }) => statusCode)).toEqual(Array(50).fill(200));
    } finally {
      setDefaultCACertificates(trustedBefore);
    }
  });
});
