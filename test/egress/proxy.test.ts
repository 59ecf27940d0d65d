import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseEgressProxy } from '../../src/egress/proxy.ts';

const basic = (credentials: string) => `Basic ${Buffer.from(credentials).toString('base64')}`;

describe('parseEgressProxy', () => {
  test.each([
    ['http://proxy.example:3128', { hostname: 'proxy.example', port: 3128, authorization: undefined }],
    ['http://proxy/', { hostname: 'proxy', port: 80, authorization: undefined }],
    ['http://10.0.0.1:3128', { hostname: '10.0.0.1', port: 3128, authorization: undefined }],
    ['http://[fd00::1]:3128', { hostname: 'fd00::1', port: 3128, authorization: undefined }],
    ['http://user:pass@proxy:3128', { hostname: 'proxy', port: 3128, authorization: basic('user:pass') }],
    ['http://user@proxy:3128', { hostname: 'proxy', port: 3128, authorization: basic('user:') }],
  ])('reads %s', (text, expected) => {
    expect(parseEgressProxy(text)).toEqual(expected);
  });

  test('decodes every user name and password', () => {
    const word = fc.string({ unit: 'binary', minLength: 1 });
    fc.assert(
      fc.property(word, word, (user, password) => {
        fc.pre(user.isWellFormed() && password.isWellFormed());
        const text = `http://${encodeURIComponent(user)}:${encodeURIComponent(password)}@proxy:3128`;
        expect(parseEgressProxy(text).authorization).toBe(basic(`${user}:${password}`));
      }),
    );
  });

  test.each([
    ...['proxy:3128', 'https://proxy:3128', 'socks5://proxy:1080', 'http:proxy:3128', 'http://', 'x'],
    ...['http://u:s3cret@proxy:3128/path', 'http://u:s3cret@proxy:3128?a', 'http://u:s3cret@proxy:3128/#a'],
    ...['http://u:s3cret%zz@proxy:3128', 'http://u:s3cret@proxy:99999', 'ftp://u:s3cret@proxy'],
  ])('rejects %s without repeating the password', (text) => {
    let message = '';
    try {
      parseEgressProxy(text);
    } catch (error) {
      ({ message } = error as Error);
    }
    expect(message).toMatch(/^must /);
    expect(message).not.toContain('s3cret');
  });
});
