import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** An address range: its network address and prefix length in bits. */
export type Cidr = [Address, number];

// Only this block is handed out for the public internet (RFC 4291 §2.4, IANA "IPv6 Global Unicast Address Space"). It
// also keeps out what ipaddr.js calls unicast: IPv4-compatible `::127.0.0.1`, and whatever may be defined elsewhere.
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');

// Public by its range, yet answered by the host of every Azure machine:
// https://learn.microsoft.com/en-us/azure/virtual-network/what-is-ip-address-168-63-129-16
const AZURE_WIRE_SERVER = '168.63.129.16';

/**
 * Reads an address as an operating system or DNS prints it; an IPv4-mapped IPv6 one is read as the IPv4 address it
 * stands for. Octal, hexadecimal and short spellings and zone identifiers are refused.
 *
 * @returns undefined when it is not a plain address.
 */
export function parseAddress(text: string): Address | undefined {
  if (isIPv4(text)) return ipaddr.parse(text);
  if (!isIPv6(text) || text.includes('%')) return undefined;
  // ipaddr.js takes the IPv4-compatible `::8.8.8.8`, as resolvers print it, for the IPv4-mapped `::ffff:8.8.8.8`. A URL
  // writes every address in hexadecimal, which is unambiguous.
  return ipaddr.process(new URL(`http://[${text}]`).hostname.slice(1, -1));
}

/** Whether an address belongs to the public internet. False for anything that is not a plain address. */
export function isPublicAddress(text: string): boolean {
  const address = parseAddress(text);
  if (address?.range() !== 'unicast') return false;
  if (address.kind() === 'ipv6') return address.match(GLOBAL_UNICAST);
  return address.toString() !== AZURE_WIRE_SERVER;
}

/** Whether two ranges have an address in common. */
export function rangesOverlap([first, firstBits]: Cidr, [second, secondBits]: Cidr): boolean {
  return first.kind() === second.kind() && first.match(second, Math.min(firstBits, secondBits));
}
