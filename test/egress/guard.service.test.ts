import { describe, expect, test } from 'vitest';
import type { EgressError } from '../../src/egress/egress-error.ts';
import { startReceiver } from '../support/receiver.ts';
import { startRawServer } from './raw-server.ts';
import { createTestEgress } from './support.ts';

const REFUSAL = { errorClass: 'target_not_allowed', message: 'The target address must be public.' };

describe('the egress guard', () => {
  test('rejects a public address over plain HTTP', async () => {
    await using egress = createTestEgress({ allow: '127.0.0.1/32:8080', lookup: async () => ['93.184.216.34'] });
    expect(await egress.failureOf('http://hooks.example.com:8080/')).toMatchObject(REFUSAL);
    expect(egress.lookups).toEqual(['hooks.example.com']);
  });

  test('logs the reason with the addresses and without the path', async () => {
    await using egress = createTestEgress({ lookup: async () => ['10.1.2.3'] });
    await egress.failureOf('https://hooks.example.com/secret');
    await egress.failureOf('https://10.1.2.3/secret');
    expect(egress.logged).toHaveLength(2);
    expect(JSON.stringify(egress.logged[0])).toContain('10.1.2.3');
    expect(JSON.stringify(egress.logged)).not.toContain('secret');
  });

  test('connects to what the allow-list covers and nothing else', async () => {
    await using allowed = await startReceiver();
    await using other = await startReceiver();
    await using neighbour = await startRawServer(undefined, { host: '127.0.0.2', port: allowed.port });
    await using egress = createTestEgress({
      allow: `127.0.0.1/32:${allowed.port}`,
      lookup: async (name) => (name === 'both.example' ? ['127.0.0.1', '127.0.0.2'] : ['127.0.0.1']),
    });
    expect((await egress.get(`${allowed.url}/a?b=c`)).statusCode).toBe(200);
    expect((await egress.get(`http://receiver.example:${allowed.port}/`)).statusCode).toBe(200);
    expect((await egress.get(`http://localhost:${allowed.port}/`)).statusCode).toBe(200);
    expect(allowed.requests.map((received) => received.path)).toEqual(['/a?b=c', '/', '/']);
    expect(allowed.requests.map((received) => received.headers.host)).toEqual([
      `127.0.0.1:${allowed.port}`,
      `receiver.example:${allowed.port}`,
      `localhost:${allowed.port}`,
    ]);
    expect(await egress.failureOf(other.url)).toMatchObject(REFUSAL);
    expect(await egress.failureOf(`http://127.0.0.2:${allowed.port}/`)).toMatchObject(REFUSAL);
    expect(await egress.failureOf(`http://both.example:${allowed.port}/`)).toMatchObject(REFUSAL);
    expect(other.connectionCount() + neighbour.connectionCount()).toBe(0);
  });

  test('resolves once per connection, and checks again when a name later points elsewhere', async () => {
    await using receiver = await startReceiver();
    await using inside = await startRawServer(undefined, { host: '127.0.0.2', port: receiver.port });
    let responses = ['127.0.0.1'];
    await using egress = createTestEgress({
      allow: `127.0.0.1/32:${receiver.port}`,
      lookup: async () => responses,
      connectionsPerOrigin: 1,
    });
    const url = `http://rebind.example:${receiver.port}/`;
    await egress.get(url);
    responses = ['127.0.0.2'];
    receiver.respondNext({ headers: { connection: 'close' } });
    await egress.get(url);
    expect(egress.lookups).toHaveLength(1);
    expect(receiver.connectionCount()).toBe(1);
    expect(await egress.failureOf(url)).toMatchObject(REFUSAL);
    expect(egress.lookups).toHaveLength(2);
    expect(inside.connectionCount()).toBe(0);
  });

  test("tries the next address of a name if the first doesn't respond", async () => {
    await using receiver = await startReceiver();
    await using egress = createTestEgress({
      allow: `127.0.0.0/30:${receiver.port}`,
      lookup: async () => ['127.0.0.2', '127.0.0.1'],
    });
    expect((await egress.get(`http://receiver.example:${receiver.port}/`)).statusCode).toBe(200);
  });

  test.each([301, 302, 303, 307, 308])('returns a %i instead of following it', async (statusCode) => {
    await using sentinel = await startRawServer();
    const location = `http://127.0.0.1:${sentinel.port}/`;
    await using receiver = await startReceiver(() => ({ statusCode, headers: { location } }));
    await using egress = createTestEgress({ allow: `127.0.0.1/32:${receiver.port},127.0.0.1/32:${sentinel.port}` });
    const response = await egress.get(receiver.url, { method: 'POST', body: '{}' });
    expect(response).toMatchObject({ statusCode, headers: { location } });
    expect(sentinel.connectionCount()).toBe(0);
  });

  test('connects to a loopback server in place of an overridden host if the allow-list covers it', async () => {
    await using receiver = await startReceiver();
    const options = { hostOverrides: { 'hooks.vendor.example': receiver.url } };
    await using egress = createTestEgress({ ...options, allow: `127.0.0.1/32:${receiver.port}` });
    expect((await egress.get('https://hooks.vendor.example/services/T1?x=y')).statusCode).toBe(200);
    expect(receiver.requests[0]).toMatchObject({
      path: '/services/T1?x=y',
      headers: { host: 'hooks.vendor.example' },
    });
    expect(egress.lookups).toEqual([]);
    await using uncovered = createTestEgress(options);
    expect(await uncovered.failureOf('https://hooks.vendor.example/services/T1')).toMatchObject(REFUSAL);
    expect(receiver.connectionCount()).toBe(1);
  });

  test('ignores proxies from the environment', async () => {
    await using proxy = await startRawServer();
    await using receiver = await startReceiver();
    const before = { ...process.env };
    const proxyUrl = `http://127.0.0.1:${proxy.port}`;
    Object.assign(process.env, {
      HTTP_PROXY: proxyUrl,
      http_proxy: proxyUrl,
      HTTPS_PROXY: proxyUrl,
      NODE_USE_ENV_PROXY: '1',
    });
    try {
      await using egress = createTestEgress({ allow: `127.0.0.1/32:${receiver.port}` });
      expect((await egress.get(receiver.url)).statusCode).toBe(200);
    } finally {
      process.env = before;
    }
    expect(proxy.connectionCount()).toBe(0);
  });

  test('includes the duration in every error', async () => {
    await using egress = createTestEgress();
    const failure: EgressError = await egress.failureOf('https://unknown.example/');
    expect(failure.errorClass).toBe('dns_error');
    expect(failure.durationMilliseconds).toBeGreaterThanOrEqual(0);
  });
});
