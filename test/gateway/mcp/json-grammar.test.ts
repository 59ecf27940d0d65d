import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isJson } from '../../../src/gateway/mcp/json-grammar.ts';

function isParsed(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const PIECES = [
  ...['{', '}', '[', ']', ',', ':', '"', '"a"', '""', '\\', '\\u00e9', '\\u00fF', '\\u00g0', '\\n', '\\x'],
  ...['0', '1', '-', '.', 'e', 'E', '+', '1e5', 'true', 'false', 'null', 'nul'],
  ...[' ', '\n', '\t', '\r', '\f', '\u00a0', '\ufeff', '\u0001', '\u2028', 'é', 'x'],
];
const pieces = fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }).map((list) => list.join(''));
const changed = fc
  .tuple(fc.json(), fc.nat(), fc.constantFrom('', ...PIECES), fc.nat(2))
  .map(([text, position, piece, removed]) => {
    const at = position % (text.length + 1);
    return text.slice(0, at) + piece + text.slice(at + removed);
  });

test.each([
  ['pieces of JSON', pieces],
  ['JSON', fc.json()],
  ['JSON with a change', changed],
])('accepts what JSON.parse accepts: %s', (_name, texts) => {
  fc.assert(
    fc.property(texts, (text) => {
      expect(isJson(text)).toBe(isParsed(text));
    }),
    { numRuns: 5_000 },
  );
});

test('accepts any depth', () => {
  expect(isJson('['.repeat(500_000) + ']'.repeat(500_000))).toBe(true);
  expect(isJson('['.repeat(500_000) + ']'.repeat(499_999))).toBe(false);
});
