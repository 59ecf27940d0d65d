import net from 'node:net';
import tls from 'node:tls';
import fc from 'fast-check';
import { request } from 'undici';
import { afterEach, beforeEach, describe, expect, type MockInstance, test, vi } from 'vitest';
import { parseEgressAllow } from '../../src/egress/allow-list.ts';
import { toEgressError } from '../../src/egress/egress-error.ts';
import { addressIn, DENIED_IPV4, DENIED_IPV6, hostileUrls, PUBLIC_ADDRESSES, spellings } from './hostile-targets.ts';
import { createTestEgress } from './support.ts';

const REFUSAL = { errorClass: 'target_not_allowed', message: 'The target address must be public.' };
const DENIED = [...DENIED_IPV4, ...DENIED_IPV6];
const originOf = (scheme: string, address: string) =>
  `${scheme}://${address.includes(':') ? `[${address}]` : address}:4010`;

// Both ways in which undici opens sockets are blocked, so that nothing leaves this machine if the guard fails.
const openedSockets: MockInstance[] = [];
beforeEach(() => {
  const open = () => {
    throw new Error('A socket was opened.');
  };
  openedSockets.push(
    vi.spyOn(net, 'connect').mockImplementation(open),
    vi.spyOn(tls, 'connect').mockImplementation(open),
  );
});
afterEach(() => {
  const calls = openedSockets.splice(0).flatMap((spy) => spy.mock.calls);
  vi.restoreAllMocks();
  expect(calls).toEqual([]);
});

describe('a hostile target', () => {
  test.each(hostileUrls(4010))(
    'is rejected before any socket or lookup, always with the same message: %j',
    async (url) => {
      await using egress = createTestEgress({ lookup: async () => ['127.0.0.1'] });
      expect(await egress.failureOf(url)).toMatchObject(REFUSAL);
      expect(egress.lookups).toEqual([]);
    },
  );

  test.each(DENIED)('is rejected in every spelling of random addresses in %s', async (cidr) => {
    await using egress = createTestEgress({ lookup: async () => ['127.0.0.1'] });
    await fc.assert(
      fc.asyncProperty(addressIn(cidr), async (address) => {
        for (const host of spellings(address)) {
          expect(await egress.failureOf(`https://${host}:4010/`)).toMatchObject(REFUSAL);
        }
      }),
    );
    expect(egress.lookups).toEqual([]);
  });

  // Streaming callers use their own URLs, and undici never passes a literal address to a lookup function.
  test.each(DENIED)('is rejected by the connector alone, for random addresses in %s', async (cidr) => {
    await using egress = createTestEgress({ lookup: async () => ['127.0.0.1'] });
    await fc.assert(
      fc.asyncProperty(addressIn(cidr), fc.constantFrom('http', 'https'), async (address, scheme) => {
        const origin = originOf(scheme, address.toString());
        expect(await request(origin, { dispatcher: egress.dispatcherFor('') }).catch(toEgressError)).toMatchObject(
          REFUSAL,
        );
      }),
    );
    expect(egress.lookups).toEqual([]);
  });

  test.each(DENIED)('is rejected if any address of a name is in %s', async (cidr) => {
    let responses: string[] = [];
    await using egress = createTestEgress({ lookup: async () => responses });
    await fc.assert(
      fc.asyncProperty(addressIn(cidr), fc.constantFrom(...PUBLIC_ADDRESSES), async (denied, allowed) => {
        for (responses of [[denied.toString()], [allowed, denied.toString()], [denied.toString(), allowed]]) {
          expect(await egress.failureOf('https://hooks.example.com/')).toMatchObject(REFUSAL);
        }
      }),
    );
  });
});

describe('while one private address is open, every other hostile target', () => {
  const OPEN = '10.99.99.99';
  const opened = (egress: ReturnType<typeof createTestEgress>) => {
    const { send, dispatcherFor } = egress.within(parseEgressAllow(`${OPEN}/32:4010`));
    const limits = { timeoutMilliseconds: 20_000, maxResponseBytes: 1_000 };
    return {
      failureOf: (url: string) => send({ method: 'GET', url, headers: {}, ...limits }).catch((error) => error),
      dispatcher: dispatcherFor(''),
    };
  };

  test.each(hostileUrls(4010))('is rejected before any socket: %j', async (url) => {
    await using egress = createTestEgress({ lookup: async () => ['127.0.0.1'] });
    expect(await opened(egress).failureOf(url)).toMatchObject(REFUSAL);
  });

  test.each(DENIED)('is rejected in every spelling of random addresses in %s', async (cidr) => {
    let responses: string[] = [];
    await using egress = createTestEgress({ lookup: async () => responses });
    const { failureOf, dispatcher } = opened(egress);
    await fc.assert(
      fc.asyncProperty(addressIn(cidr), async (address) => {
        const text = address.toString();
        fc.pre(text !== OPEN);
        responses = [text];
        for (const host of spellings(address)) {
          expect(await failureOf(`http://${host}:4010/`)).toMatchObject(REFUSAL);
          expect(await failureOf(`https://${host}:4010/`)).toMatchObject(REFUSAL);
        }
        for (responses of [[text], [OPEN, text], [text, OPEN]]) {
          expect(await failureOf('http://api.example.com:4010/')).toMatchObject(REFUSAL);
          expect(await failureOf('http://api.internal:4010/')).toMatchObject(REFUSAL);
        }
        const direct = request(originOf('http', text), { dispatcher }).catch(toEgressError);
        expect(await direct).toMatchObject(REFUSAL);
      }),
      { numRuns: 50 },
    );
  });
});

describe('a public target', () => {
  test.each(PUBLIC_ADDRESSES)('can be connected to: %s', async (address) => {
    await using egress = createTestEgress({ lookup: async () => [address] });
    await egress.failureOf(`${originOf('https', address)}/`);
    await egress.failureOf('https://hooks.example.com/');
    const hosts = openedSockets
      .flatMap((spy) => spy.mock.calls)
      .map(([options]) => (options as tls.ConnectionOptions).host);
    for (const spy of openedSockets) spy.mockClear();
    expect(hosts).toHaveLength(2);
    expect(hosts[1]).toBe(address);
  });
});
