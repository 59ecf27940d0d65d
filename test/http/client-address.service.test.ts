import type { IncomingMessage } from 'node:http';
import type { Logger } from 'pino';
import { describe, expect, test } from 'vitest';
import { trustProxies } from '../../src/http/client-address.ts';
import { openSocket } from '../graphql/socket-client.ts';
import { startTestApp } from '../support/app.ts';
import { createKey, createProject, type Resource } from '../support/resources.ts';

const request = (remoteAddress: string | undefined, forwarded?: string | string[]) =>
  ({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } }) as unknown as IncomingMessage;
const warnings: [object, string][] = [];
const log = { warn: (...line: [object, string]) => void warnings.push(line) } as unknown as Pick<Logger, 'warn'>;
const { clientOf } = trustProxies(['10.0.0.0/8', '192.0.2.1', 'fd00::/8', 'fe80::/10'], log);

describe("a client's address", () => {
  test.each([
    ['is that of the connection if there is no proxy', '203.0.113.9', undefined, '203.0.113.9'],
    ['is the one that a trusted proxy forwards', '10.1.2.3', '198.51.100.1', '198.51.100.1'],
    [
      'is the last one before the trusted proxies, not an earlier claim',
      '10.1.2.3',
      '1.1.1.1, 198.51.100.1',
      '198.51.100.1',
    ],
    ['is found behind several trusted proxies', '10.1.2.3', '198.51.100.1, 192.0.2.1, 10.9.9.9', '198.51.100.1'],
    ['is recognized for IPv4 within IPv6', '::ffff:10.1.2.3', '198.51.100.1', '198.51.100.1'],
    ['is recognized for IPv6', 'fd12::1', '2001:db8::1', '2001:db8::1'],
    ['has no port', '10.1.2.3', '198.51.100.1:51008', '198.51.100.1'],
    ['has no port or brackets', '10.1.2.3', '[2001:db8::1]:51008', '2001:db8::1'],
    ['has no brackets', '10.1.2.3', '[2001:db8::1]', '2001:db8::1'],
    ['has no zone', 'fe80::1%eth0', '[fe80::2%eth0]:443, 2001:db8::2%1', '2001:db8::2'],
    ['has one spelling', '10.1.2.3', '2001:DB8:0:0::01', '2001:db8::1'],
    ['has one spelling for IPv4 within IPv6', '10.1.2.3', '[::ffff:c633:6401]:80', '198.51.100.1'],
    ['has one spelling without a proxy', '::ffff:203.0.113.9', undefined, '203.0.113.9'],
    ['is found behind proxies with ports', '10.1.2.3', '1.1.1.1, 198.51.100.1:1, 192.0.2.1:2', '198.51.100.1'],
    ['is empty if the connection is closed', undefined, undefined, ''],
  ])('%s', (_name, remote, forwarded, expected) => {
    expect(clientOf(request(remote, forwarded))).toEqual({ address: expected, isAddressShared: false });
  });

  test.each([
    ...['unknown', '_hidden', '', 'unix:', '198.51.100.1:x', '198.51.100.1:123456', '198.51.100', '[198.51.100.1'],
    ...['010.0.0.1', '198.51.100.1%1', '"198.51.100.1"', '[unknown]:80', '198.51.100.1 1.1.1.1', '1'.repeat(10_000)],
  ])('is the nearest proxy’s, and shared, if the proxy sends %j', (entry) => {
    const shared = { address: '10.1.2.3', isAddressShared: true };
    expect(clientOf(request('::ffff:10.1.2.3', `198.51.100.1, ${entry}`))).toEqual(shared);
    expect(clientOf(request('192.0.2.1', `198.51.100.1, ${entry}, 10.1.2.3:80`))).toEqual(shared);
    // An entry before that of the client is only a claim.
    const client = { address: '198.51.100.1', isAddressShared: false };
    expect(clientOf(request('10.1.2.3', `${entry}, 198.51.100.1`))).toEqual(client);
  });

  // Otherwise, everyone behind the proxy could get the responses that one of them has paid for.
  test.each([
    ['that of the connection if an untrusted client claims another', '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['not a proxy’s if it only contains a proxy’s', '::10.1.2.3', '198.51.100.1', '::a01:203'],
    ['that of the farthest proxy if all are trusted', '10.1.2.3', '10.4.5.6', '10.4.5.6'],
    ['that of the proxy if the header is empty', '10.1.2.3', ' ', '10.1.2.3'],
    ['that of the proxy if there is no header', '10.1.2.3', undefined, '10.1.2.3'],
  ])('is shared and %s', (_name, remote, forwarded, expected) => {
    expect(clientOf(request(remote, forwarded))).toEqual({ address: expected, isAddressShared: true });
  });

  test.each(['forwarded', 'via'])('is shared if an untrusted proxy sends only %s', (name) => {
    const socket = { remoteAddress: '172.18.0.1' };
    const sent = { socket, headers: { [name]: 'for=198.51.100.1' } } as unknown as IncomingMessage;
    const { clientOf: find } = trustProxies(['127.0.0.1'], { warn: () => {} });
    expect(find(sent)).toEqual({ address: '172.18.0.1', isAddressShared: true });
  });

  test('of a proxy that may be missing in TRUSTED_PROXIES is logged once', () => {
    const lines: unknown[] = [];
    const { clientOf: find } = trustProxies(['127.0.0.1'], { warn: (...line: unknown[]) => void lines.push(line) });
    find(request('203.0.113.9', '198.51.100.1'));
    find(request('172.18.0.1'));
    expect(lines).toEqual([]);
    for (const remote of ['172.18.0.1', '172.18.0.1', '10.0.0.1']) find(request(remote, '198.51.100.1'));
    expect(lines).toEqual([[{ proxy: '172.18.0.1' }, expect.stringMatching(/isn't in TRUSTED_PROXIES.*add it$/)]]);
  });

  test('that is missing is logged once for all requests', () => {
    expect(warnings).toEqual([
      [
        { proxy: '10.1.2.3', entry: 'unknown' },
        expect.stringMatching(/sent an X-Forwarded-For entry that isn't an IP address.*Make the proxy set/),
      ],
    ]);
  });

  test('treats repeated headers as one list', () => {
    expect(clientOf(request('10.1.2.3', ['1.1.1.1', '198.51.100.1'])).address).toBe('198.51.100.1');
  });

  test('trusts no proxy by default', () => {
    expect(trustProxies([], log).clientOf(request('127.0.0.1', '198.51.100.1')).address).toBe('127.0.0.1');
  });

  test.each(['10.0.0.0/33', 'proxy.example', ''])('rejects %j as a proxy', (text) => {
    expect(() => trustProxies([text], log)).toThrow('TRUSTED_PROXIES');
  });
});

test('sockets and requests behind a trusted proxy are limited per client', async () => {
  const app = await startTestApp({ env: { ROLES: 'api', TRUSTED_PROXIES: '127.0.0.1' }, rateLimitNow: () => 0 });
  try {
    const alice = await app.user('alice', 'ENTERPRISE');
    const connect = async (client: string, token: string) => {
      const socket = await openSocket(app.url, { headers: { 'x-forwarded-for': client } });
      socket.send({ type: 'connection_init', payload: { Authorization: `Bearer ${token}` } });
      const outcome = await Promise.race([
        socket.next().then(({ type }) => type),
        socket.closed.then(({ code }) => code),
      ]);
      socket.socket.terminate();
      return outcome;
    };
    const outcomes = new Set<unknown>();
    // Some load balancers add the client's port, which is a different one for each connection.
    for (let count = 0; count < 40; count++) outcomes.add(await connect(`198.51.100.1:${count + 1}`, `guess-${count}`));
    expect(outcomes).toEqual(new Set([4403, 1013]));
    expect(await connect('198.51.100.1', alice.token)).toBe(1013);
    expect(await connect('198.51.100.2:1', alice.token)).toBe('connection_ack');
    const from = (client: string, user = alice) =>
      user.rest('GET', '/api/projects', undefined, { 'x-forwarded-for': client });
    const bob = await app.user('bob', 'ENTERPRISE');
    expect((await from('198.51.100.1:7', bob)).status).toBe(429);
    expect((await from('198.51.100.2:7', bob)).status).toBe(200);
    // Alice's token is known to be good by now, so failures by other callers at the address don't block her.
    expect((await from('198.51.100.1')).status).toBe(200);
  } finally {
    await app.stop();
  }
});

test('an API key works only from its addresses, on every transport, whatever the client claims', async () => {
  const app = await startTestApp({ env: { ROLES: 'api', TRUSTED_PROXIES: '127.0.0.1' }, rateLimitNow: () => 0 });
  try {
    const alice = await app.user('alice', 'ENTERPRISE');
    const { base } = await createProject(alice);
    const allowedAddresses = ['198.51.100.0/24', '2001:db8::/32'];
    const { key, id } = await createKey(alice, base, { allowedAddresses });
    const lastUsed = async () => (await alice.rest<Resource>('GET', `${base}/keys/${id}`)).body.lastUsedAt;
    const query = '{ __typename }';
    const from = (client: string, path: string, init: RequestInit = {}) =>
      fetch(app.url + path, {
        ...init,
        headers: {
          authorization: `Bearer ${key}`,
          'x-forwarded-for': client,
          'content-type': 'application/json',
          ...init.headers,
        },
      });
    const post = { method: 'POST', body: JSON.stringify({ query }) };
    const transports: Readonly<Record<string, (client: string) => Promise<Response>>> = {
      REST: (client) => from(client, base),
      GraphQL: (client) => from(client, '/graphql', post),
      'an export': (client) => from(client, `${base}/events/export`),
      'an event stream': (client) => from(client, '/graphql', { ...post, headers: { accept: 'text/event-stream' } }),
    };
    const connect = async (client: string) => {
      const socket = await openSocket(app.url, { headers: { 'x-forwarded-for': client } });
      socket.send({ type: 'connection_init', payload: { Authorization: `Bearer ${key}` } });
      const outcome = await Promise.race([socket.next().then(({ type }) => type), socket.closed]);
      socket.socket.terminate();
      return outcome;
    };
    const detail = 'This API key can’t be used from 203.0.113.9.';
    // The proxy appends the address of its client, so an earlier one is only a claim.
    for (const client of ['203.0.113.9:4711', '198.51.100.7, 203.0.113.9', '::ffff:203.0.113.9']) {
      for (const [name, send] of Object.entries(transports)) {
        const response = await send(client);
        expect({ name, client, status: response.status }).toEqual({ name, client, status: 403 });
        const text = await response.text();
        expect(text).toContain(detail);
        expect(text).toContain('FORBIDDEN');
      }
      expect(await connect(client)).toMatchObject({ code: 4403, reason: detail });
    }
    expect(await lastUsed()).toBeNull();
    for (const client of ['198.51.100.7:1', '203.0.113.9, 198.51.100.7', '[2001:db8::7]:1', '::ffff:198.51.100.7']) {
      for (const [name, send] of Object.entries(transports)) {
        const response = await send(client);
        expect({ name, client, status: response.status }).toEqual({ name, client, status: 200 });
        await response.text();
      }
      expect(await connect(client)).toBe('connection_ack');
    }
    // A key that has just worked is known, but still doesn't work from elsewhere.
    expect((await transports.REST!('203.0.113.9')).status).toBe(403);
    await expect.poll(lastUsed).not.toBeNull();
  } finally {
    await app.stop();
  }
});
