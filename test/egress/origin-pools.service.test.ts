import { Readable } from 'node:stream';
import { request } from 'undici';
import { describe, expect, test } from 'vitest';
import { parseEgressAllow } from '../../src/egress/allow-list.ts';
import { createGuardedConnect } from '../../src/egress/guarded-connect.ts';
import { createHandshakes } from '../../src/egress/handshakes.ts';
import { OriginPools } from '../../src/egress/origin-pools.ts';
import { startReceiver } from '../support/receiver.ts';
import { startRawServer } from './raw-server.ts';
import { loopback } from './support.ts';

const statusOf = async (url: string, dispatcher: OriginPools) => {
  const { statusCode, body } = await request(url, { dispatcher });
  await body.dump();
  return statusCode;
};

describe('OriginPools', () => {
  test('closes the least recently used idle origin to make room for a new one', async () => {
    await using first = await startReceiver();
    await using second = await startReceiver();
    await using third = await startReceiver();
    const pools = new OriginPools({}, 2);
    for (const { url } of [first, second, first, third]) await statusOf(url, pools);
    expect(pools.originCount).toBe(2);
    for (const { url } of [first, second]) await statusOf(url, pools);
    expect([first, second].map((receiver) => receiver.connectionCount())).toEqual([1, 2]);
    await pools.close();
  });

  test('counts the connections of all origins together', async () => {
    await using busy = await startReceiver(async () => {
      await busy.waitFor(3);
      return {};
    });
    await using other = await startReceiver();
    const pools = new OriginPools({ connections: 3 }, 3);
    await Promise.all(Array.from({ length: 3 }, () => statusOf(busy.url, pools)));
    await statusOf(other.url, pools);
    expect(pools.originCount).toBe(1);
    await pools.close();
  });

  test('opens no more connections to an origin than allowed, and reuses the first one', async () => {
    await using receiver = await startReceiver();
    const pools = new OriginPools({ connections: 2 }, 100);
    await Promise.all(Array.from({ length: 20 }, () => statusOf(receiver.url, pools)));
    expect(receiver.connectionCount()).toBe(2);
    await statusOf(receiver.url, pools);
    expect(receiver.connectionCount()).toBe(2);
    await pools.close();
  });

  test('a request that waits for a connection ends when its signal is aborted, and is never sent', async () => {
    const gate = Promise.withResolvers<undefined>();
    await using receiver = await startReceiver(async () => {
      await gate.promise;
      return {};
    });
    const pools = new OriginPools({ connections: 2 }, 100);
    const busy = [statusOf(receiver.url, pools), statusOf(receiver.url, pools)];
    await receiver.waitFor(2);
    const timeout = new AbortController();
    const body = Readable.from([Buffer.from('body')]);
    const waiting = request(receiver.url, { dispatcher: pools, method: 'POST', body, signal: timeout.signal });
    const last = statusOf(receiver.url, pools);
    timeout.abort(new Error('timed out'));
    await expect(waiting).rejects.toThrow('timed out');
    expect(body.destroyed).toBe(true);
    gate.resolve(undefined);
    expect(await Promise.all([...busy, last])).toEqual([200, 200, 200]);
    expect(receiver.requests.map(({ method }) => method)).toEqual(['GET', 'GET', 'GET']);
    await pools.close();
  });

  test('never closes a busy origin', async () => {
    const gate = Promise.withResolvers<undefined>();
    await using busy = await startReceiver(async () => {
      await gate.promise;
      return { statusCode: 202 };
    });
    await using other = await startReceiver();
    const pools = new OriginPools({}, 1);
    const answer = statusOf(busy.url, pools);
    await busy.waitFor(1);
    expect(await statusOf(other.url, pools)).toBe(200);
    expect(pools.originCount).toBe(2);
    gate.resolve(undefined);
    expect(await answer).toBe(202);
    await pools.close();
  });

  test("removes an origin that can't be reached", async () => {
    const gone = await startRawServer();
    await gone.close();
    const pools = new OriginPools({ connections: 4 }, 100);
    const url = `http://127.0.0.1:${gone.port}/`;
    const failures = await Promise.allSettled(Array.from({ length: 20 }, () => statusOf(url, pools)));
    expect(failures.every((failure) => failure.status === 'rejected')).toBe(true);
    expect(pools.originCount).toBe(0);
    await pools.close();
  });

  test('removes an origin when its last connection closes', async () => {
    const disconnected = Promise.withResolvers<void>();
    await using receiver = await startReceiver((_request, response) => {
      response.on('close', () => disconnected.resolve());
      return { headers: { connection: 'close' } };
    });
    const pools = new OriginPools({}, 100);
    await statusOf(receiver.url, pools);
    await disconnected.promise;
    await expect.poll(() => pools.originCount).toBe(0);
    await pools.close();
  });

  test('waits for a request that is sent once more, and then removes its origin', async () => {
    const gate = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    let connectionCount = 0;
    await using server = await startRawServer((socket) => {
      const isFirst = connectionCount++ === 0;
      socket.once('data', async () => {
        if (!isFirst) {
          arrived.resolve();
          await gate.promise;
        }
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
        socket.once('data', () => socket.destroy());
      });
    });
    const connect = createGuardedConnect({
      allow: parseEgressAllow(loopback(server)),
      log: { debug: () => {}, warn: () => {} },
      lookup: async () => [],
      handshakes: createHandshakes(5_000),
      hostOverrides: {},
      connectTimeoutMilliseconds: 5_000,
      openTunnel: undefined,
    });
    const pools = new OriginPools({ connect, pipelining: 1 }, 100);
    const url = `http://127.0.0.1:${server.port}/`;
    await statusOf(url, pools);
    const repeated = statusOf(url, pools);
    await arrived.promise;
    expect(pools.originCount).toBe(1);
    gate.resolve();
    expect(await repeated).toBe(200);
    await expect.poll(() => pools.originCount).toBe(0);
    await pools.close();
  });

  test('rejects requests after it is closed or destroyed', async () => {
    await using receiver = await startReceiver();
    for (const end of ['close', 'destroy'] as const) {
      const pools = new OriginPools({}, 100);
      await statusOf(receiver.url, pools);
      await pools[end]();
      await pools[end]();
      await expect(statusOf(receiver.url, pools)).rejects.toMatchObject({ code: 'UND_ERR_CLOSED' });
    }
  });
});
