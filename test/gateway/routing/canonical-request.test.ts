import { describe, expect, test } from 'vitest';
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
    ['too many bytes once its path is escaped', `/${'['.repeat(3_000)}`],
    ['too many bytes once its query is escaped', `/w?${"'".repeat(3_000)}`],
  ])('is rejected if it has %s', (_what, target) => {
    expect(canonicalRequest(target).ok).toBe(false);
  });

  test('keeps the query unchanged if a URL parser would', () => {
    const query = '?a=%2e%2e%2f&b=//\\&c=%252f&d=?x=1&a=%61&e=%&f=%zz&g=[]{}|^`~!$()*,;:@+';
    expect(new URL(`http://upstream.test/w${query}`).search).toBe(query);
    expect(canonicalRequest(`/w${query}`)).toMatchObject({ ok: true, path: '/w', query });
    expect(canonicalRequest('/w?')).toMatchObject({ path: '/w', query: '?' });
  });

  test.each([
    ["?$filter=name%20eq%20'Bern'", '?$filter=name%20eq%20%27Bern%27'],
    ['?a="b"', '?a=%22b%22'],
    ['?a=<b>', '?a=%3Cb%3E'],
    ["?'", '?%27'],
    ['?a=%27%3c', '?a=%27%3c'],
  ])('escapes in the query what every URL parser escapes: %s', (query, escaped) => {
    expect(canonicalRequest(`/w${query}`)).toMatchObject({ ok: true, path: '/w', query: escaped });
    expect(new URL(`http://upstream.test/w${query}`).search).toBe(escaped);
  });
});
