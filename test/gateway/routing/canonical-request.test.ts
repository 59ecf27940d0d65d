import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalPath } from '../../../src/features/endpoints/path.ts';
import { canonicalRequest } from '../../../src/gateway/routing/canonical-request.ts';

const path = (target: string) => {
  const result = canonicalRequest(target);
  return result.ok ? result.path : undefined;
};

describe("a request's path", () => {
  test.each([
    ['/', '/'],
    ['/weather', '/weather'],
    ['/weather/', '/weather/'],
    ['/%77eather', '/weather'],
    ['/a%2db/%7Euser', '/a-b/~user'],
    ['/caf%c3%a9', '/caf%C3%A9'],
    ['/a:b/@c;v=1,2', '/a:b/@c;v=1,2'],
    ['/:literal/*/x', '/:literal/*/x'],
    ['/a[1]|2^3', '/a%5B1%5D%7C2%5E3'],
    ['/50%25', '/50%25'],
    ['/...', '/...'],
  ])('%s is routed and forwarded as %s', (target, canonical) => {
    expect(path(target)).toBe(canonical);
  });

  test.each([
    ['a dot segment', '/a/../b'],
    ['a dot segment at the end', '/a/..'],
    ['a single dot', '/./a'],
    ['an encoded dot segment', '/a/%2e%2e/b'],
    ['a half-encoded dot segment', '/a/.%2E/b'],
    ['dots with a path parameter', '/a/..;/b'],
    ['dots with a named path parameter', '/a/..;x=1/b'],
    ['dots with an encoded path parameter', '/a/..%3b/b'],
    ['an encoded slash', '/a%2fb'],
    ['a traversal with an encoded slash', '/..%2fsecret'],
    ['an encoded backslash', '/..%5csecret'],
    ['a backslash', '/a\\b'],
    ['a double-encoded slash', '/..%252fsecret'],
    ['a double-encoded dot', '/%252e%252e/secret'],
    ['triple encoding', '/%25252e'],
    ['an overlong dot', '/%c0%ae%c0%ae/secret'],
    ['bytes that are not UTF-8', '/%ff'],
    ['an empty segment', '/a//b'],
    ['a leading double slash', '//evil.example/a'],
    ['two trailing slashes', '/a//'],
    ['a null byte', '/a%00b'],
    ['a line break', '/a%0d%0aX-Injected:1'],
    ['a delete byte', '/a%7f'],
    ['a control character beyond ASCII', '/a%c2%85'],
    ['an invalid escape', '/a%zz'],
    ['a truncated escape', '/a%2'],
    ['an incomplete escape that the next one completes', '/%4%41'],
    ['a raw tab', '/a\tb'],
    ['a raw space', '/a b'],
    ['a raw byte outside ASCII', '/caf\u00e9'],
    ['a character outside RFC 3986', '/a"b'],
    ['a fragment', '/a#b'],
    ['no leading slash', 'a'],
    ['nothing', ''],
    ['absolute form', 'http://evil.example/a'],
    ['too many bytes', `/${'a'.repeat(8_192)}`],
  ])('with %s is rejected', (_what, target) => {
    expect(canonicalRequest(target).ok).toBe(false);
  });

  test('keeps the query unchanged, whatever it contains', () => {
    const query = '?a=%2e%2e%2f&b=//\\&c=%252f&d=?x=1&a=%61';
    expect(canonicalRequest(`/w${query}`)).toMatchObject({ ok: true, path: '/w', query });
    expect(canonicalRequest('/w?')).toMatchObject({ path: '/w', query: '?' });
  });
});

const anyTarget = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '/',
        '.',
        '%',
        '%2',
        '%2e',
        '%2F',
        '%25',
        '%5c',
        '%c2',
        '%85',
        '%41',
        '\\',
        ';',
        ':',
        '*',
        '?',
        'a',
      ),
      fc.string(),
    ),
    {
      maxLength: 24,
    },
  )
  .map((parts) => `/${parts.join('')}`);

describe('for any request target', () => {
  test('canonicalizing twice changes nothing', () => {
    fc.assert(
      fc.property(anyTarget, (target) => {
        const first = canonicalRequest(target);
        if (!first.ok) return;
        expect(canonicalRequest(first.path + first.query)).toEqual(first);
      }),
      { numRuns: 20_000 },
    );
  });

  test('an accepted path means the same to a URL parser, one that decodes first, and one that decodes twice', () => {
    fc.assert(
      fc.property(anyTarget, (target) => {
        const result = canonicalRequest(target);
        if (!result.ok) return;
        const { path: canonical } = result;
        expect(new URL(`http://upstream.test${canonical}`).pathname).toBe(canonical);
        for (const seen of [canonical, decodeURIComponent(canonical), twiceDecoded(canonical)]) {
          const segments = seen.slice(1).split('/');
          expect(segments).toHaveLength(result.segments.length);
          expect(segments.slice(0, -1)).not.toContain('');
          for (const segment of segments) expect(segment.split(';')[0]).not.toMatch(/^\.{1,2}$/);
          expect(seen).not.toMatch(/[\\\p{Cc}]/u);
        }
      }),
      { numRuns: 20_000 },
    );
  });

  test('every stored path without placeholders can be requested', () => {
    fc.assert(
      fc.property(anyTarget, (target) => {
        const stored = canonicalPath(target);
        if (!stored.ok || /\/[:*]/.test(stored.path)) return;
        expect(path(stored.path)).toBe(stored.path);
      }),
      { numRuns: 20_000 },
    );
  });
});

/** Decodes like a server that decodes twice, if that is possible. */
function twiceDecoded(text: string): string {
  const once = decodeURIComponent(text);
  try {
    return decodeURIComponent(once);
  } catch {
    return once;
  }
}
