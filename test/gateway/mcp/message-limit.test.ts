import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { readMcpRequest } from '../../../src/gateway/mcp/mcp-request.ts';
import { createMessageLimit } from '../../../src/gateway/mcp/message-limit.ts';

const MEGABYTE = 1024 * 1024;
const memory = { take: () => true, mayDrop: () => {} };

test('an address that sends more than 64 MB of messages a minute is rejected before they are parsed, and others are not', async () => {
  let now = 0;
  const limit = createMessageLimit(() => now);
  /** Sends a megabyte that isn't JSON. */
  async function outcomeOf(ip: string): Promise<string> {
    const headers = { 'content-type': 'application/json', 'content-length': String(MEGABYTE) };
    const raw = Object.assign(Readable.from([Buffer.alloc(MEGABYTE, 'x')]), { headers });
    return readMcpRequest({ method: 'POST', ip, raw } as never, memory, limit).then(
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
