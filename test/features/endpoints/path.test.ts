import { describe, expect, test } from 'vitest';
import { canonicalPath } from '../../../src/features/endpoints/path.ts';

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
    ['/a'.repeat(32), '/a'.repeat(32)],
  ])('%s becomes %s', (text, path) => {
    expect(pathOf(text)).toBe(path);
  });
});

describe('a path that programs could interpret differently is rejected', () => {
  test.each([
    ...[
      '',
      'weather',
      'weather/',
      ' /weather',
      '?',
      '//',
      '/a//b',
      '/a/',
      '//host/a',
      'https://host/a',
      '/a?b=c',
      '/a#b',
    ],
    ...[
      '/.',
      '/..',
      '/./a',
      '/a/..',
      '/a/../b',
      '/%2e',
      '/a/%2e',
      '/%2e%2e/a',
      '/.%2E/a',
      '/%2E%2e',
      '/.%2e/a',
      '/a/%2e%2E/b',
      '/..;/a',
      '/.;x',
      '/%2e%2e;x/a',
    ],
    ...['/%252e%252e/a', '/%25%32%65', '/%2525', '/%255c', '/%2f', '/a%2Fb', '/%5C', '/%5cetc', '/\\', '/a\\b'],
    ...[
      '/%',
      '/%4',
      '/%zz',
      '/%u0041',
      '/%0a',
      '/%2',
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
      '/a\u0007b',
      '/a\ud800',
      '/\u00a0',
      '/\u2028',
      '/ä',
      '/😀',
      '/\ud800',
      '/"',
      '/<',
      '/<a>',
      '/{a}',
      '/a|b',
      '/^',
      '/`',
    ],
    ...['/:', '/:1', '/:a-b', '/:a.json', '/::a', '/:a/:a', '/*/a', '/a/*/b', `/${'a'.repeat(2048)}`, '/a'.repeat(33)],
  ])('%j', (text) => {
    const result = canonicalPath(text);
    expect(result).toEqual({ ok: false, message: expect.stringMatching(/^[A-Z"].*\.$/s) });
  });

  test('if it is longer than 2,048 bytes', () => {
    expect(pathOf(`/${'a'.repeat(2047)}`)).toHaveLength(2048);
    expect(pathOf(`/${'a'.repeat(2048)}`)).toBeUndefined();
  });
});

describe('an incomplete escape, which decoding could complete', () => {
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
});
