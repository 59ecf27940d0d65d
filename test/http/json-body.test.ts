import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BODY_LIMIT_BYTES } from '../../src/http/file-bodies.ts';
import { bytesBesidesLongestString, measureJson, parseJsonBody } from '../../src/http/json-body.ts';

const parse = (text: string) => parseJsonBody({ headers: {} }, Buffer.from(text));

/** All strings in a JSON value, including names of fields, as JSON without the quotes. */
function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [JSON.stringify(value).slice(1, -1)];
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(stringsIn);
  return Object.entries(value).flatMap(([name, item]) => [...stringsIn(name), ...stringsIn(item)]);
}

test('for any JSON, the bytes besides the longest string are counted exactly', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      const longest = Math.max(0, ...stringsIn(value).map((string) => Buffer.byteLength(string)));
      expect(bytesBesidesLongestString(Buffer.from(text), Infinity)).toBe(Buffer.byteLength(text) - longest);
    }),
    { numRuns: 2_000 },
  );
});

/** How many values a JSON value has, including itself. */
const valuesIn = (value: unknown): number =>
  typeof value === 'object' && value !== null ? Object.values(value).reduce((sum, item) => sum + valuesIn(item), 1) : 1;

/** How many levels of lists and objects a JSON value has. */
const levelsIn = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(levelsIn)) : 0;

test('for any JSON, the values and the levels are counted exactly', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(2), (value, indent) => {
      const json = Buffer.from(JSON.stringify(value, null, indent));
      const measured = measureJson(json, { values: Infinity, levels: Infinity });
      expect(measured).toEqual({ values: valuesIn(value), levels: levelsIn(value) });
    }),
    { numRuns: 2_000 },
  );
});

test('a body is rejected before it is parsed if it has too many levels', () => {
  expect(() => parse('['.repeat(65))).toThrow(
    expect.objectContaining({ message: expect.stringContaining('64 levels') }),
  );
});

// JSON.parse would report each of these as malformed.
test.each([
  ['fields', '"a":1,', '{'],
  ['objects', '{},', '['],
  ['lists', '[],', '['],
  ['numbers', '1,', '['],
])('a body of 256 KiB is rejected before it is parsed if it has too many %s', (_name, part, start) => {
  const text = start + part.repeat(Math.floor(BODY_LIMIT_BYTES / part.length) - 1);
  expect(() => parse(text)).toThrow(expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' }));
});

describe('a body over 256 KiB', () => {
  // JSON.parse would report each of these as malformed.
  test.each([
    ['objects', '{},'],
    ['brackets', '['],
    ['numbers', '1,'],
    ['short strings', '"a",'],
    ['strings of 100 KB', `"${'a'.repeat(100_000)}",`],
    ['whitespace', ' '],
  ])('is rejected before it is parsed if it has too many %s', (_name, part) => {
    const text = `[${part.repeat(Math.ceil((8 * 1024 * 1024) / part.length))}`;
    expect(() => parse(text)).toThrow(expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' }));
  });

  test.each([
    ['plain', 'a'.repeat(1_000_000)],
    ['escaped', '\\"\n'.repeat(300_000)],
    ['not closed', undefined],
  ])('is parsed if it is large because of one string: %s', (_name, document) => {
    if (document === undefined) {
      const unclosed = () => parse(`{"document":"${'a'.repeat(1_000_000)}`);
      return expect(unclosed).toThrow(expect.objectContaining({ code: 'MALFORMED_JSON' }));
    }
    expect(parse(JSON.stringify({ document, priceUsd: '1' }))).toEqual({ document, priceUsd: '1' });
  });
});

describe('a body of exactly 256 KiB', () => {
  const filled = (text: string, length: number) => `${text.slice(0, -1)}${' '.repeat(length - text.length)}]`;

  test('may have 5,000 values', () => {
    const text = filled(`[${Array.from({ length: 2_499 }, () => '[1]')},1]`, BODY_LIMIT_BYTES);
    expect(Buffer.byteLength(text)).toBe(BODY_LIMIT_BYTES);
    expect(parse(text)).toHaveLength(2_500);
  });

  // A hundred thousand of them would take up to a fifth of a second to check.
  test.each([
    ['numbers', Array.from({ length: 5_000 }, () => '1')],
    ['lists', Array.from({ length: 2_500 }, () => '[1]')],
    ['fields', Array.from({ length: 2_500 }, () => '{"a":1}')],
  ])('is rejected if it has more values: %s', (_name, items) => {
    expect(() => parse(filled(`[${items}]`, BODY_LIMIT_BYTES))).toThrow(
      expect.objectContaining({
        code: 'PAYLOAD_TOO_LARGE',
        message: 'The request body has more than 5,000 values. Send fewer.',
      }),
    );
  });
});
