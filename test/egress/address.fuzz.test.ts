import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isPublicAddress, parseAddress } from '../../src/egress/address.ts';
import { addressIn, DENIED_IPV4, DENIED_IPV6, PUBLIC_ADDRESSES } from './hostile-targets.ts';

describe('isPublicAddress', () => {
  test.each(PUBLIC_ADDRESSES)('returns true for %s', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  // The chance that a random address in ::/8 is IPv4-mapped and public is 1 in 2^88.
  test.each([...DENIED_IPV4, ...DENIED_IPV6])(
    'returns false for every address in %s, in any IPv4-mapped or translated form',
    (cidr) => {
      fc.assert(
        fc.property(addressIn(cidr), fc.constantFrom('', '::ffff:', '64:ff9b::', '::'), (address, prefix) => {
          const text = address.toString();
          return !isPublicAddress(address.kind() === 'ipv4' ? prefix + text : text);
        }),
        { numRuns: 4_000 },
      );
    },
  );

  test.each(['::8.8.8.8', '::ffff:0:8.8.8.8', '64:ff9b::8.8.8.8', '2002:808:808::', '::808:808'])(
    'returns false for %s, although the IPv4 address in it is public',
    (address) => {
      expect(isPublicAddress(address)).toBe(false);
    },
  );

  test.each([
    '',
    'example.com',
    '0177.0.0.1',
    '0x8080808',
    '8.8.8',
    '08.8.8.8',
    '8.8.8.8 ',
    '[2606:4700::1]',
    '2606:4700::1%lo',
  ])("returns false for %j, which isn't an address", (text) => {
    expect(isPublicAddress(text)).toBe(false);
    expect(parseAddress(text)).toBeUndefined();
  });
});
