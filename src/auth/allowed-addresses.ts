import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

type Address = ReturnType<typeof ipaddr.parse>;
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
 * @param address as `clientAddress` returns it. Text that isn't an address is allowed only by keys without a list.
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

/** Node's check is stricter than `ipaddr.js`: it doesn't accept `127.1` or `0x7f.0.0.1`. */
function networkOf(text: string): Network | undefined {
  const [, address = '', length] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  if (isIP(address) === 0) return undefined;
  const parsed = ipaddr.parse(address);
  const bits = length === undefined ? lengthOf(parsed) : Number(length);
  if (bits > lengthOf(parsed)) return undefined;
  if (parsed.kind() === 'ipv4') return [parsed, bits];
  const whole = parsed as ipaddr.IPv6;
  if (!whole.isIPv4MappedAddress()) return [whole, bits];
  // A larger block would also contain addresses that aren't IPv4.
  return bits < MAPPED_BITS ? undefined : [whole.toIPv4Address(), bits - MAPPED_BITS];
}

function lengthOf(address: Address): number {
  return address.kind() === 'ipv4' ? 32 : 128;
}
