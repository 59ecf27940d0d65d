import { describe, expect, test } from 'vitest';
import { parseEgressAllow } from '../../src/egress/allow-list.ts';

describe('parseEgressAllow', () => {
  test('permits exactly the listed addresses and ports', () => {
    const allow = parseEgressAllow(' 127.0.0.1/32:4010, 10.0.0.0/8:* ,[::1]/128:4010');
    expect(allow.permits('127.0.0.1', 4010)).toBe(true);
    expect(allow.permits('::ffff:127.0.0.1', 4010)).toBe(true);
    expect(allow.permits('::1', 4010)).toBe(true);
    expect(allow.permits('10.255.255.255', 1)).toBe(true);
    expect(allow.permits('127.0.0.1', 4011)).toBe(false);
    expect(allow.permits('127.0.0.2', 4010)).toBe(false);
    expect(allow.permits('::2', 4010)).toBe(false);
    expect(allow.permits('11.0.0.0', 1)).toBe(false);
    expect(allow.permits('::127.0.0.1', 4010)).toBe(false);
    expect(allow.permits('localhost', 4010)).toBe(false);
  });

  test('reports which ports its entries cover', () => {
    const allow = parseEgressAllow('127.0.0.1/32:4010');
    expect(allow.coversPort(4010, false)).toBe(true);
    expect(allow.coversPort(4011, true)).toBe(false);
    expect(parseEgressAllow('127.0.0.1/32:*').coversPort(4011, true)).toBe(true);
    expect(parseEgressAllow('127.0.0.1/32:*').coversPort(4011, false)).toBe(false);
    expect(parseEgressAllow('10.0.0.0/8:*').coversPort(4011, false)).toBe(true);
  });

  test.each(['', '  '])('permits nothing if the list is %j', (text) => {
    const allow = parseEgressAllow(text);
    expect(allow.permits('127.0.0.1', 4010)).toBe(false);
    expect(allow.coversPort(4010, true)).toBe(false);
  });

  test('reports the entries that include this machine and private networks', () => {
    const text =
      '8.8.8.8/32:53,127.0.0.1/32:1,0.0.0.0/32:2,[::1]/128:3,10.0.0.0/8:4,172.16.0.0/12:5,[fd12::]/16:6,8.0.0.0/5:7';
    const allow = parseEgressAllow(text);
    expect(allow.loopbackEntries).toEqual(['127.0.0.1/32:1', '0.0.0.0/32:2', '[::1]/128:3']);
    const privateOnly = ['10.0.0.0/8:4', '172.16.0.0/12:5', '[fd12::]/16:6', '8.0.0.0/5:7'];
    expect(allow.privateEntries).toEqual([...allow.loopbackEntries, ...privateOnly]);
  });

  test.each([
    ['127.0.0.1', 'use <network>'],
    ['127.0.0.1:4010', 'use <network>'],
    ['127.0.0.1/32', 'use <network>'],
    ['127.0.0.1/32:', 'use <network>'],
    ['127.0.0.1/32:http', 'use <network>'],
    ['127.0.0.1/32:-1', 'use <network>'],
    ['::1/128:4010', 'use <network>'],
    ['[::1/128]:4010', 'use <network>'],
    ['localhost/32:4010', 'use <network>'],
    ['*', 'use <network>'],
    ['127.0.0.1/32:4010,', 'use <network>'],
    ['127.0.0.1/33:4010', 'must be an IPv4'],
    ['[::1]/129:4010', 'must be an IPv4'],
    ['127.1/32:4010', 'must be an IPv4'],
    ['0177.0.0.1/32:4010', 'must be an IPv4'],
    ['256.0.0.1/32:4010', 'must be an IPv4'],
    ['[127.0.0.1]/32:4010', 'must be an IPv4'],
    ['127.0.0.1/8:4010', 'starts at 127.0.0.0'],
    ['[fd00::1]/64:4010', 'starts at fd00::'],
    ['127.0.0.1/32:0', 'between 1 and 65535'],
    ['127.0.0.1/32:65536', 'between 1 and 65535'],
  ])('rejects %j: %s', (text, reason) => {
    expect(() => parseEgressAllow(text)).toThrow(reason);
  });

  test.each([
    ...['169.254.169.254/32:80', '169.254.0.0/16:*', '168.63.129.16/32:80', '100.100.100.200/32:80'],
    ...['192.0.0.192/32:80', '100.64.0.0/10:*', '0.0.0.0/0:*', '128.0.0.0/1:443'],
    ...['[fe80::]/10:80', '[fe80::1]/128:80', '[fd00:ec2::254]/128:80', '[fd00::]/8:*', '[::]/0:*'],
    // Other clouds' IPv6 addresses for metadata, and those for credentials in EKS.
    ...['[fd20:ce::254]/128:80', '[fd20::]/20:*', '[fd00:c1::a9fe:a9fe]/128:80', '[fd00:42::42]/128:80'],
    ...['[fd00:a9fe:a9fe::1]/128:80', '[fd00:100::100:200]/128:80', '[fd00:ec2::23]/128:80', '[fd00:ec2::]/120:*'],
    ...[
      '[::ffff:169.254.169.254]/128:80',
      '[::ffff:0:0]/96:80',
      '[64:ff9b::]/96:*',
      '[2002::]/16:80',
      '[2001::]/32:80',
    ],
  ])('never accepts %s, which includes link-local, metadata, or translated addresses', (text) => {
    expect(() => parseEgressAllow(text)).toThrow('never allowed');
  });
});
