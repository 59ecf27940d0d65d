import { describe, expect, test } from 'vitest';
import { parseEgressAllow } from '../../src/egress/allow-list.ts';
import { checkTargetUrl } from '../../src/egress/url.ts';
import { hostileUrls, PUBLIC_ADDRESSES } from './hostile-targets.ts';

const nothing = parseEgressAllow('');
const messageOf = (url: string, allow = nothing) => {
  const check = checkTargetUrl(url, allow);
  return check.ok ? undefined : check.message;
};

describe('checkTargetUrl', () => {
  test.each([
    ...[
      'https://example.com',
      'https://example.com/hook?a=b%20c',
      'HTTPS://Example.COM:443/',
      'https://example.com:8443/x',
    ],
    ...['https://bücher.example/hook', 'https://xn--bcher-kva.example/', 'https://not-yet-registered.example/'],
    ...PUBLIC_ADDRESSES.map((address) => `https://${address.includes(':') ? `[${address}]` : address}/hook`),
  ])('accepts %s', (url) => {
    expect(checkTargetUrl(url, nothing)).toEqual({ ok: true, url: new URL(url) });
  });

  test.each(hostileUrls(4010))('rejects %j', (url) => {
    expect(checkTargetUrl(url, nothing).ok).toBe(false);
  });

  test.each([
    ['http://example.com/', 'https://'],
    ['ftp://example.com/', 'absolute URL'],
    ['example.com', 'absolute URL'],
    ['', 'absolute URL'],
    ['https://', 'absolute URL'],
    ['https://exa mple.com/', 'space'],
    ['https://example.com/a b', 'space'],
    ['https://example.com/\u0000', 'invisible'],
    ['https://example.com/\u202etxt', 'invisible'],
    ['https://exam\u00adple.com/', 'invisible'],
    ['https://example.com\\@evil.example/', 'backslash'],
    ['https://user:password@example.com/', 'user name'],
    ['https://@example.com/', 'user name'],
    ['https://example.com/#part', 'fragment'],
    ['https://example.com./', 'dot at the end'],
    ['https://example.com:22/', 'port'],
    ['https://example.com:80/', 'port'],
    ['https://example.com:0/', 'port'],
    ['https://example.com:65536/', 'absolute URL'],
    [`https://example.com/${'a'.repeat(2_029)}`, '2048 bytes'],
    [`https://example.com/${'é'.repeat(1_015)}`, '2048 bytes'],
  ])('explains why %j is rejected', (url, part) => {
    expect(messageOf(url)).toContain(part);
  });

  test('accepts a URL of exactly 2048 bytes', () => {
    expect(messageOf(`https://example.com/${'a'.repeat(2_028)}`)).toBeUndefined();
  });

  test("returns the same message for every target that isn't public", () => {
    const targets = [
      'https://127.0.0.1/',
      'https://10.0.0.1/',
      'https://[::1]/',
      'https://localhost/',
      'https://intranet/',
    ];
    const messages = targets.map((url) => messageOf(url));
    expect(new Set(messages)).toEqual(new Set(['The target address must be public.']));
  });

  test('accepts plain HTTP and any port only for what the allow-list covers', () => {
    const allow = parseEgressAllow('127.0.0.1/32:4010,[::1]/128:81');
    const accepted = [
      'http://127.0.0.1:4010/',
      'https://127.0.0.1:4010/',
      'http://[::1]:81/',
      'http://localhost:4010/',
    ];
    for (const url of [...accepted, 'http://receiver:4010/', 'http://receiver.example:81/', 'http://0x7f.1:4010/']) {
      expect(messageOf(url, allow), url).toBeUndefined();
    }
    // Its addresses are checked on every connection.
    expect(messageOf('https://receiver.example:81/', allow)).toBeUndefined();
    const refused = [
      'https://8.8.8.8:81/',
      'https://receiver.example:82/',
      'http://127.0.0.1:4011/',
      'http://127.0.0.2:4010/',
      'http://[::1]:4010/',
      'http://localhost:4011/',
    ];
    for (const url of [...refused, 'http://8.8.8.8:4010/', 'https://receiver/', 'http://receiver.example/']) {
      expect(messageOf(url, allow), url).toBeDefined();
    }
  });
});
