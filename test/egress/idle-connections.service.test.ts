import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { startRawServer } from './raw-server.ts';
import { createTestEgress, loopback } from './support.ts';

afterEach(() => void vi.useRealTimers());

describe('an idle connection to a server that', () => {
  test.each([
    // gunicorn closes connections after 2 s, and doesn't say so.
    ["doesn't announce how long it keeps connections", '', 1_000],
    ['announces 3 s', 'keep-alive: timeout=3\r\n', 1_000],
    ['announces 5 s', 'keep-alive: timeout=5\r\n', 3_000],
    ['announces 5 s and a number of requests', 'keep-alive: timeout=5, max=100\r\n', 3_000],
    ['announces an hour', 'keep-alive: timeout=3600\r\n', 30_000],
  ])('%s is closed well before the server does', async (_what, hint, milliseconds) => {
    const closed = Promise.withResolvers<void>();
    await using server = await startRawServer((socket) => {
      socket.once('end', () => closed.resolve());
      socket.on('data', () => socket.write(`HTTP/1.1 200 OK\r\n${hint}content-length: 0\r\n\r\n`));
    });
    await using egress = createTestEgress({ allow: loopback(server) });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const beIdle = async () => {
      await egress.get(`http://127.0.0.1:${server.port}/`);
      while (vi.getTimerCount() === 0) await turn();
    };

    await beIdle();
    vi.advanceTimersByTime(milliseconds - 1);
    await beIdle();
    expect(server.connectionCount()).toBe(1);
    vi.advanceTimersByTime(milliseconds);
    await closed.promise;
    await beIdle();
    expect(server.connectionCount()).toBe(2);
  });

  test('announces 2 s or less is closed after the response', async () => {
    await using server = await startRawServer((socket) => {
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nkeep-alive: timeout=2\r\ncontent-length: 0\r\n\r\n'));
    });
    await using egress = createTestEgress({ allow: loopback(server) });
    for (let count = 0; count < 3; count++) await egress.get(`http://127.0.0.1:${server.port}/`);
    expect(server.connectionCount()).toBe(3);
  });
});
