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
  const failOne = () =>
    handshakes
      .run(SHOP, async (watch) => {
        failCostly(watch);
        throw new Error('failed');
      })
      .catch(() => {});
  return { start, ends, failOne, settle: () => vi.advanceTimersByTimeAsync(0) };
}

describe('handshakes', () => {
  test('run one at a time per domain and two at a time per address, until the domain has had a trusted certificate', async () => {
    const { start, ends, settle } = open();
    for (let count = 0; count < 12; count++) void start();
    await settle();
    expect(ends).toHaveLength(1);
    for (let count = 0; count < 10; count++) void start({ hostname: `shop${count}.example` });
    await settle();
    expect(ends).toHaveLength(2);
    ends.splice(0, 1)[0]!();
    await settle();
    // Eight of the first domain, and two of others.
    expect(ends).toHaveLength(10);
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

  test('don’t depend on names in the same domain at other addresses, which may belong to someone else', async () => {
    const { start, ends, failOne, settle } = open();
    const others = { hostname: 'other.shop.example', address: '203.0.113.2' };
    void start(others);
    await settle();
    ends.splice(0)[0]!();
    await settle();
    await failOne();
    for (let count = 0; count < 10; count++) void start(others);
    void start({ hostname: 'new.shop.example', address: '203.0.113.3' });
    await settle();
    expect(ends).toHaveLength(9);
    expect(await start()).toBe('tls_error');
  });

  test('fail if they have waited for too long', async () => {
    const { start, ends } = open();
    const started = [start(), start()];
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await started[1]).toBe('connect_timeout');
    expect(ends).toHaveLength(1);
  });

  test('fail for a minute after a costly one, and then run one at a time for an hour', async () => {
    const { start, ends, failOne, settle } = open();
    await failOne();
    expect(await start()).toBe('tls_error');
    expect(await start({ hostname: 'shop2.example' })).toBe('tls_error');
    void start({ hostname: 'shop2.example', address: '203.0.113.2' });
    await settle();
    expect(ends).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(60_000);
    const others = ['shop3.example', 'shop4.example', 'shop5.example'];
    for (const hostname of others) void start({ hostname });
    await settle();
    expect(ends).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(3_600_000);
    for (const hostname of others) void start({ hostname });
    await settle();
    expect(ends).toHaveLength(3);
  });

  test('of all addresses in an IPv6 network are limited together', async () => {
    const { start, ends, settle } = open();
    for (let count = 0; count < 20; count++)
      void start({ hostname: `shop${count}.example`, address: `2001:db8:1:${count + 1}::1` });
    await settle();
    expect(ends).toHaveLength(2);
  });
});
