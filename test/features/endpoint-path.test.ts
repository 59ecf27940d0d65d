import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalPath } from '../../src/features/endpoints/path.ts';

/** Whole, half and nested escapes with what can complete them. */
const PIECES = [
  '/',
  '.',
  '%',
  '%2',
  '%3',
  '%2e',
  '%2E',
  '%25',
  '%32',
  '%35',
  '%45',
  '%61',
  '%7e',
  '2',
  '5',
  'E',
  'e',
  'a',
];
const anyPath = fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }).map((parts) => `/${parts.join('')}`);

/** The escapes of a text resolved once, byte by byte. */
const resolved = (text: string) =>
  text.replace(/%([0-9A-Fa-f]{2})/g, (_escape, code) => String.fromCharCode(Number.parseInt(code, 16)));

test.each([
  '/%%32e',
  '/%%32E%%32E/admin',
  '/%2%45%2%45/admin',
  '/%2%45',
  '/%%32%45',
  '/%%32%35',
  '/%%32F',
  '/a%4%31',
  '/%',
])('%s is refused: half an escape would become a whole one when the rest is resolved', (text) => {
  expect(canonicalPath(text).ok).toBe(false);
});

test('whatever halves are put together, the path says what was written, in its only form', () => {
  const property = fc.property(anyPath, (text) => {
    const result = canonicalPath(text);
    if (!result.ok) return;
    const { path } = result;
    expect(resolved(path)).toBe(resolved(text));
    expect(canonicalPath(path)).toEqual({ ok: true, path });
    expect(path).not.toMatch(/%(?![0-9A-F]{2})|%2E/);
    if (path !== '/') expect(path).not.toMatch(/\/\.{0,2}(\/|$)/);
  });
  fc.assert(property, { numRuns: 50_000 });
});
