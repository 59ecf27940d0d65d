import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalPath } from '../../../src/features/endpoints/path.ts';
import { hostileText } from '../../support/hostile-text.ts';

function pathOf(text: string): string | undefined {
  const result = canonicalPath(text);
  return result.ok ? result.path : undefined;
}

describe('the stored form of any path', () => {
  /** Parts of path-like strings. */
  const pieces = fc.constantFrom(
    ...[
      '/',
      '/',
      '/',
      '.',
      '..',
      '%2e',
      '%2E',
      '%25',
      '%252e',
      '%2f',
      '%5c',
      '%00',
      '%7E',
      '%41',
      '%c3%a9',
      '%',
      ':',
      '*',
    ],
    ...['a', 'Z', '0', '-', '_', '~', ';', '?', '#', ' ', '\\', 'é', ':id', '@', '&'],
  );
  const nearly = fc.array(pieces, { maxLength: 12 }).map((parts) => `/${parts.join('')}`);
  const texts = fc.oneof({ weight: 4, arbitrary: nearly }, { weight: 1, arbitrary: hostileText() });
  const stored = texts.map(pathOf).filter((path) => path !== undefined);
  const options = { numRuns: 20_000 };

  test('stays the same when it is stored again', () => {
    fc.assert(
      fc.property(stored, (path) => pathOf(path) === path),
      options,
    );
  });

  test('has no empty or dot segments and no escaped slashes, even when decoded repeatedly', () => {
    const property = fc.property(stored, (path) => {
      if (path === '/') return;
      for (const segment of path.slice(1).split('/')) {
        for (const decoded of [segment, decodeURIComponent(segment), decodeTwice(segment)]) {
          expect(decoded).not.toMatch(/^(\.{0,2}|\.{1,2};.*)$/);
          expect(decoded).not.toMatch(/[/\\\p{Cc}]/u);
        }
      }
    });
    fc.assert(property, options);
  });

  test('is not changed by URL parsers', () => {
    const property = fc.property(stored, (path) => {
      const url = new URL(`https://gateway.example${path}`);
      expect([url.pathname, url.search, url.hash, url.host]).toEqual([path, '', '', 'gateway.example']);
    });
    fc.assert(property, options);
  });
});

/** Complete, incomplete, and nested escapes, and the characters that can complete them. */
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

/** Decodes the escapes in a string once, byte by byte. */
const resolved = (text: string) =>
  text.replace(/%([0-9A-Fa-f]{2})/g, (_escape, code) => String.fromCharCode(Number.parseInt(code, 16)));

test('an accepted path is canonical, has no incomplete escapes, and decodes to the original text', () => {
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

function decodeTwice(segment: string): string {
  const once = decodeURIComponent(segment);
  try {
    return decodeURIComponent(once);
  } catch {
    return once;
  }
}
