import { EventEmitter } from 'node:events';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createHandshakes } from '../../src/egress/handshakes.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const SHOP = { hostname: 'a.shop.example', address: '203.0.113.1', hasOwnAuthority: false };

/** A failed handshake with a server that has sent a key which can't be read. */
function failCostly(watch: (socket: TLSSocket) => void): void {
  const certificate = {
    get publicKey() {
      throw new Error('unsupported');
    },
  };
  const socket = Object.assign(new EventEmitter(), { destroy() {}, getPeerX509Certificate: () => certificate });
  watch(socket as unknown as TLSSocket);
  socket.destroy();
}

function open() {
  const handshakes = createHandshakes(5_000, () => Date.now());
  const ends: (() => void)[] = [];
  /** Starts a handshake, which runs until `ends` is called. Resolves to the class of its error, if any. */
  const start = (changes: Partial<typeof SHOP> = {}) =>
    handshakes
      .run({ ...SHOP, ...changes }, () => new Promise<void>((resolve) => void ends.push(resolve)))
      .catch(({ errorClass }) => errorClass);
  const failOne = () => handshakes.run(SHOP, async (watch) => failCostly(watch));
  return { start, ends, failOne, settle: () => vi.advanceTimersByTimeAsync(0) };
}

describe('handshakes', () => {
  test('eight run at the same time per domain, and sixteen per address', async () => {
    const { start, ends, settle } = open();
    for (let count = 0; count < 10; count++) void start();
    await settle();
    expect(ends).toHaveLength(8);
    for (let count = 0; count < 10; count++) void start({ hostname: `shop${count}.example` });
    await settle();
    expect(ends).toHaveLength(16);
  });

  test('with a domain that has had a trusted certificate don’t depend on others at its address', async () => {
    const { start, ends, failOne, settle } = open();
    void start({ hostname: 'trusted.example' });
    void start({ hostname: 'own-authority.example', hasOwnAuthority: true });
    await settle();
    for (const end of ends.splice(0)) end();
    await failOne();
    for (let count = 0; count < 10; count++) void start({ hostname: 'www.trusted.example' });
    await settle();
    expect(ends).toHaveLength(8);
    expect(await start({ hostname: 'own-authority.example', hasOwnAuthority: true })).toBe('tls_error');
    expect(await start({ hostname: 'new.example' })).toBe('tls_error');
  });

  test('fail if they have waited for too long', async () => {
    const { start, ends } = open();
    const started = Array.from({ length: 9 }, () => start());
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await started[8]).toBe('connect_timeout');
    expect(ends).toHaveLength(8);
  });

  test('fail for a minute after a costly one, and then run one at a time for an hour', async () => {
    const { start, ends, failOne, settle } = open();
    await failOne();
    expect(await start()).toBe('tls_error');
    expect(await start({ hostname: 'shop2.example' })).toBe('tls_error');
    expect(await start({ address: '203.0.113.2' })).toBe('tls_error');
    void start({ hostname: 'shop2.example', address: '203.0.113.2' });
    await settle();
    expect(ends).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(60_000);
    for (let count = 0; count < 3; count++) void start();
    await settle();
    expect(ends).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(3_600_000);
    for (let count = 0; count < 3; count++) void start();
    await settle();
    expect(ends).toHaveLength(5);
  });

  test('of all addresses in an IPv6 network are limited together', async () => {
    const { start, ends, settle } = open();
    for (let count = 0; count < 20; count++)
      void start({ hostname: `shop${count}.example`, address: `2001:db8:1:${count + 1}::1` });
    await settle();
    expect(ends).toHaveLength(16);
  });
});
