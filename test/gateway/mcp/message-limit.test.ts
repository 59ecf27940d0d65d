import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { readMcpRequest } from '../../../src/gateway/mcp/mcp-request.ts';
import { createMessageLimit } from '../../../src/gateway/mcp/message-limit.ts';

const MEGABYTE = 1024 * 1024;
const memory = { take: () => true, mayDrop: () => {} };
const open = new AbortController().signal;
const LARGE = Buffer.from(`{"jsonrpc":"2.0","method":"ping","params":"${'x'.repeat(100_000)}"}`);

function requestFrom(ip: string, body: Buffer) {
  const headers = { 'content-type': 'application/json', 'content-length': String(body.length) };
  return { method: 'POST', ip, raw: Object.assign(Readable.from([body]), { headers }) } as never;
}

test('an address that sends more than 64 MB of messages a minute is rejected before they are parsed, and others are not', async () => {
  let now = 0;
  const limit = createMessageLimit(() => now);
  /** Sends a megabyte that isn't JSON. */
  async function outcomeOf(ip: string): Promise<string> {
    return readMcpRequest(requestFrom(ip, Buffer.alloc(MEGABYTE, 'x')), memory, limit, open).then(
      () => 'read',
      ({ code }) => code,
    );
  }
  const seen = new Set<string>();
  for (let count = 0; count < 64; count++) seen.add(await outcomeOf('203.0.113.1'));
  expect(seen).toEqual(new Set(['BAD_REQUEST']));
  expect(await outcomeOf('203.0.113.1')).toBe('RATE_LIMITED');
  expect(await outcomeOf('203.0.113.2')).toBe('BAD_REQUEST');
  now += 2_000;
  expect(await outcomeOf('203.0.113.1')).toBe('BAD_REQUEST');
});

test('other work is done between two large messages', async () => {
  const limit = createMessageLimit();
  let round = 0;
  let isDone = false;
  const rounds = (async () => {
    for (; !isDone; round++) await setImmediate();
  })();
  const addresses = Array.from({ length: 8 }, (_, index) => `203.0.113.${index}`);
  const readIn = await Promise.all(
    addresses.map((ip) => readMcpRequest(requestFrom(ip, LARGE), memory, limit, open).then(() => round)),
  );
  isDone = true;
  await rounds;
  expect(new Set(readIn).size).toBe(addresses.length);
});

test('addresses with large messages take turns', async () => {
  const limit = createMessageLimit();
  const order: string[] = [];
  const ips = [...Array.from({ length: 20 }, () => '203.0.113.1'), '203.0.113.2'];
  await Promise.all(
    ips.map((ip) => readMcpRequest(requestFrom(ip, LARGE), memory, limit, open).then(() => order.push(ip))),
  );
  expect(order.indexOf('203.0.113.2')).toBeLessThan(3);
});

test('a message that has to make room for others, or whose client is gone, isn’t read', async () => {
  const limit = createMessageLimit();
  const drops: (() => void)[] = [];
  const dropped = { take: () => true, mayDrop: (drop: () => void) => void drops.push(drop) };
  const gone = new AbortController();
  // They wait behind this one.
  const first = limit.inTurn('203.0.113.1', LARGE.length, async () => {
    for (let round = 0; round < 100; round++) await setImmediate();
    for (const drop of drops) drop();
    gone.abort();
  });
  const outcomes = await Promise.allSettled([
    first,
    readMcpRequest(requestFrom('203.0.113.1', LARGE), dropped, limit, open),
    readMcpRequest(requestFrom('203.0.113.1', LARGE), memory, limit, gone.signal),
  ]);
  expect(outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason.code : 'read'))).toEqual([
    'read',
    'UNAVAILABLE',
    'UNAVAILABLE',
  ]);
});
