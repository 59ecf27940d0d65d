import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { createCallId, createIdRestorer, MAX_ID_BYTES, restoreId } from '../../../src/gateway/mcp/call-id.ts';

/** A string that looks like the ID of a call, with this text in place of the buyer's ID. */
const lookalike = (text: string) => `"tollgate_call_${'A'.repeat(22)}_${Buffer.from(text).toString('base64url')}"`;

function restored(text: string, chunkBytes = Number.MAX_SAFE_INTEGER): string {
  const { restore, end } = createIdRestorer();
  const bytes = Buffer.from(text);
  const chunks: Buffer[] = [];
  for (let from = 0; from < bytes.length; from += chunkBytes)
    chunks.push(restore(bytes.subarray(from, from + chunkBytes)));
  return Buffer.concat([...chunks, end()]).toString();
}

const id = fc
  .oneof(
    fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => JSON.stringify(number)),
    fc.constantFrom('""', '0', '-0', '1.50', '1e999', '-1E-5', '"\\u0000\\/\\b"', '"\u007f\u0085\u2028"', '"\\ud800"'),
  )
  .filter((json) => Buffer.byteLength(json) <= MAX_ID_BYTES);

test('any ID of a buyer is restored, in a response and in a stream that arrives in any chunks', () => {
  fc.assert(
    fc.property(id, fc.integer({ min: 1, max: 600 }), (json, chunkBytes) => {
      const callId = createCallId(json);
      const text = `data: {"id":"${callId}","result":["${callId}"]}\n\n`;
      const expected = `data: {"id":${json},"result":[${json}]}\n\n`;
      expect(restoreId(Buffer.from(text), callId).toString()).toBe(expected);
      expect(restored(text, chunkBytes)).toBe(expected);
    }),
  );
});

test.each([
  '',
  '{}',
  '[1]',
  'null',
  'true',
  '1}',
  '"a","b"',
  '"a\n"',
  '"\u0000"',
  '"\\x"',
  '"\\u12"',
  '01',
  '1.',
  'x\n1',
  '1\r',
])('a string with %j in place of an ID stays as it is, because it could end the value or the line', (text) => {
  expect(restored(`[${lookalike(text)}]`)).toBe(`[${lookalike(text)}]`);
});

test('strings that only look like IDs are not parsed, because an error for each of them takes too long', () => {
  const parse = vi.spyOn(JSON, 'parse');
  const text = lookalike('no JSON').repeat(1_000);
  expect(restored(text)).toBe(text);
  expect(parse.mock.calls.length).toBeLessThan(10);
});
