import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type Address, parseAddress } from '../egress/address.ts';

type Network = [address: Address, bits: number];

/** The prefix of an IPv4 address that is written as IPv6 (RFC 4291 §2.5.5.2). */
const MAPPED_BITS = 96;

/**
 * Returns an address or a CIDR block in its only spelling: IPv4 within IPv6 as IPv4, a block by its first address, and a
 * block with one address as that address. Returns undefined if the text is anything else, or a block with every address.
 */
export function normalizeAllowedAddress(text: string): string | undefined {
  const network = networkOf(text.trim());
  if (!network || network[1] === 0) return undefined;
  const [address, bits] = network;
  if (bits === lengthOf(address)) return address.toString();
  const kind = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6;
  return `${kind.networkAddressFromCIDR(`${address.toString()}/${bits}`).toString()}/${bits}`;
}

/**
 * Whether an API key with these addresses can be used from an address.
 *
 * @param allowed addresses and blocks from `normalizeAllowedAddress`; none means any address.
 * @param address as `TrustedProxies.clientOf` returns it. Text that isn't an address is allowed only by keys without a list.
 */
export function isAllowedAddress(allowed: readonly string[], address: string): boolean {
  if (allowed.length === 0) return true;
  const [from] = networkOf(address) ?? [];
  if (!from) return false;
  return allowed.some((text) => {
    const network = networkOf(text);
    return network !== undefined && network[0].kind() === from.kind() && from.match(network[0], network[1]);
  });
}

/** An address for messages. It may come from a proxy, so anything else isn't repeated. */
export function shownAddress(address: string): string {
  return networkOf(address)?.[0].toString() ?? 'an unknown address';
}

function networkOf(text: string): Network | undefined {
  const [, address = '', length] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const parsed = parseAddress(address);
  if (!parsed) return undefined;
  if (length === undefined) return [parsed, lengthOf(parsed)];
  const isMapped = parsed.kind() === 'ipv4' && isIPv6(address);
  // A larger block than the one of IPv4 addresses would also contain others.
  const bits = isMapped ? Number(length) - MAPPED_BITS : Number(length);
  return bits < 0 || bits > lengthOf(parsed) ? undefined : [parsed, bits];
}

function lengthOf(address: Address): number {
  return address.kind() === 'ipv4' ? 32 : 128;
}
