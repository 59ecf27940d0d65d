import { describe, expect, test } from 'vitest';
import { isAllowedAddress, normalizeAllowedAddress, shownAddress } from '../../src/auth/allowed-addresses.ts';

describe('an allowed address', () => {
  test.each([
    ['203.0.113.9', '203.0.113.9'],
    [' 203.0.113.9 ', '203.0.113.9'],
    ['203.0.113.9/32', '203.0.113.9'],
    ['203.0.113.9/24', '203.0.113.0/24'],
    ['2001:DB8::1', '2001:db8::1'],
    ['2001:db8:0:0::/32', '2001:db8::/32'],
    ['2001:db8::1/128', '2001:db8::1'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['::ffff:203.0.113.9/120', '203.0.113.0/24'],
    ['::203.0.113.9', '::cb00:7109'],
  ])('%j is stored as %j', (text, expected) => {
    expect(normalizeAllowedAddress(text)).toBe(expected);
    expect(normalizeAllowedAddress(expected)).toBe(expected);
  });

  test.each([
    ...['', '0.0.0.0/0', '::/0', '::ffff:0:0/96', '::ffff:0:0/95', '203.0.113.9/33', '2001:db8::/129', '203.0.113.9/'],
    ...['127.1', '0x7f.0.0.1', '010.0.0.1', '2130706433', 'fe80::1%eth0', 'example.com', '203.0.113.1-203.0.113.9'],
    ...['203.0.113.9:443', '[2001:db8::1]', '203.0.113.9/-1', '203.0.113.9, 203.0.113.10', '*', '203.0.113.*'],
  ])('cannot be %j', (text) => {
    expect(normalizeAllowedAddress(text)).toBeUndefined();
  });
});

test.each([
  [[], 'anything', true],
  [['203.0.113.9'], '203.0.113.9', true],
  [['203.0.113.9'], '203.0.113.10', false],
  [['203.0.113.9'], '::ffff:203.0.113.9', true],
  [['203.0.113.9'], '::ffff:cb00:7109', true],
  [['10.0.0.0/8', '203.0.113.0/24'], '203.0.113.255', true],
  [['10.0.0.0/8', '203.0.113.0/24'], '203.0.114.0', false],
  // The deprecated IPv4-compatible addresses are other addresses.
  [['203.0.113.9'], '::203.0.113.9', false],
  [['203.0.113.9'], '::cb00:7109', false],
  [['::/96'], '::203.0.113.9', true],
  [['2001:db8::/32'], '2001:db8:ffff::1', true],
  [['2001:db8::/32'], '2001:db9::1', false],
  // 203.0.113.9 in the first 32 bits of IPv6.
  [['203.0.113.0/24'], 'cb00:7109::', false],
  [['203.0.113.9'], '', false],
  [['203.0.113.9'], 'unknown', false],
  [['203.0.113.9'], '203.0.113.9:443', false],
  [['203.0.113.9'], '203.0.113.9, 198.51.100.1', false],
] as const)('a key for %j can be used from %j: %j', (allowed, address, expected) => {
  expect(isAllowedAddress(allowed, address)).toBe(expected);
});

test('messages contain only addresses, not other text from a proxy', () => {
  expect(shownAddress('::ffff:203.0.113.9')).toBe('203.0.113.9');
  expect(shownAddress('<script>')).toBe('an unknown address');
});
