import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalPath } from '../../../src/features/endpoints/path.ts';
import { hostileText } from '../../support/hostile-text.ts';

function pathOf(text: string): string | undefined {
  const result = canonicalPath(text);
  return result.ok ? result.path : undefined;
}

describe('a path is stored in its canonical form', () => {
  test.each([
    ['/', '/'],
    ['/weather', '/weather'],
    ['/Weather', '/Weather'],
    ['/v1/weather.json', '/v1/weather.json'],
    ['/a-b_c.d~e', '/a-b_c.d~e'],
    ['/users/:id', '/users/:id'],
    ['/users/:id/orders/:order_id', '/users/:id/orders/:order_id'],
    ['/files/*', '/files/*'],
    ['/*', '/*'],
    ['/a*b', '/a*b'],
    ['/a:b', '/a:b'],
    ['/@me', '/@me'],
    ["/!$&'()+,=;x", "/!$&'()+,=;x"],
    ['/%7Euser', '/~user'],
    ['/%61%62', '/ab'],
    ['/caf%c3%a9', '/caf%C3%A9'],
    ['/a%20b', '/a%20b'],
    ['/a%3Fb', '/a%3Fb'],
    ['/%3aid', '/%3Aid'],
    ['/%2a', '/%2A'],
    ['/100%25', '/100%25'],
    ['/...', '/...'],
    ['/.well-known/x', '/.well-known/x'],
    ['/..a', '/..a'],
  ])('%s becomes %s', (text, path) => {
    expect(pathOf(text)).toBe(path);
  });
});

describe('a path that programs may read differently is rejected', () => {
  test.each([
    ...['', 'weather', ' /weather', '?', '//', '/a//b', '/a/', '//host/a', 'https://host/a', '/a?b=c', '/a#b'],
    ...['/.', '/..', '/./a', '/a/../b', '/%2e', '/%2E%2e', '/.%2e/a', '/a/%2e%2E/b', '/..;/a', '/.;x', '/%2e%2e;x/a'],
    ...['/%252e%252e/a', '/%25%32%65', '/%2525', '/%255c', '/%2f', '/a%2Fb', '/%5C', '/%5cetc', '/\\', '/a\\b'],
    ...[
      '/%',
      '/%4',
      '/%zz',
      '/%u0041',
      '/%00',
      '/a%0d%0aX: y',
      '/%1f',
      '/%7f',
      '/%80',
      '/%ff',
      '/%c0%af',
      '/%ed%a0%80',
    ],
    ...[
      '/a b',
      '/a\tb',
      '/a\nb',
      '/a\0b',
      '/\u00a0',
      '/\u2028',
      '/ä',
      '/😀',
      '/\ud800',
      '/"',
      '/<a>',
      '/{a}',
      '/a|b',
      '/^',
      '/`',
    ],
    ...['/:', '/:1', '/:a-b', '/:a.json', '/::a', '/:a/:a', '/*/a', '/a/*/b', `/${'a'.repeat(2048)}`],
  ])('%j', (text) => {
    const result = canonicalPath(text);
    expect(result).toEqual({ ok: false, message: expect.stringMatching(/^[A-Z"].*\.$/s) });
  });

  test('and so is a path of more than 2,048 bytes', () => {
    expect(pathOf(`/${'a'.repeat(2047)}`)).toHaveLength(2048);
    expect(pathOf(`/${'a'.repeat(2048)}`)).toBeUndefined();
  });
});

describe('the stored form of any path', () => {
  /** Parts of strings that are almost paths. */
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

describe('an incomplete escape, which decoding could complete', () => {
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
  ])('is rejected in %s', (text) => {
    expect(canonicalPath(text).ok).toBe(false);
  });

  test('never occurs in an accepted path; such a path decodes to the original text and is canonical', () => {
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
});

function decodeTwice(segment: string): string {
  const once = decodeURIComponent(segment);
  try {
    return decodeURIComponent(once);
  } catch {
    return once;
  }
}
