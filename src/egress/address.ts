import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** An address range: its network address and prefix length in bits. */
export type Cidr = [Address, number];

// The only block assigned for the public internet (RFC 4291 §2.4, IANA "IPv6 Global Unicast Address Space"). Requiring
// it also excludes other addresses that ipaddr.js calls unicast, such as the IPv4-compatible `::127.0.0.1`.
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');

// This address is in a public range, but on every Azure machine, it reaches the machine's host:
// https://learn.microsoft.com/en-us/azure/virtual-network/what-is-ip-address-168-63-129-16
const AZURE_WIRE_SERVER = '168.63.129.16';

/**
 * Parses an address in the form that operating systems and DNS use. An IPv4-mapped IPv6 address is read as the IPv4
 * address. Octal, hexadecimal, and shortened spellings are rejected, and so are zone IDs.
 *
 * @returns undefined if the text isn't a plain address.
 */
export function parseAddress(text: string): Address | undefined {
  if (isIPv4(text)) return ipaddr.parse(text);
  if (!isIPv6(text) || text.includes('%')) return undefined;
  // ipaddr.js confuses the IPv4-compatible `::8.8.8.8`, as resolvers print it, with the IPv4-mapped `::ffff:8.8.8.8`.
  // URL writes every address in hexadecimal, which is unambiguous.
  return ipaddr.process(new URL(`http://[${text}]`).hostname.slice(1, -1));
}

/** Whether an address belongs to the public internet. False for anything that isn't a plain address. */
export function isPublicAddress(text: string): boolean {
  const address = parseAddress(text);
  if (address?.range() !== 'unicast') return false;
  if (address.kind() === 'ipv6') return address.match(GLOBAL_UNICAST);
  return address.toString() !== AZURE_WIRE_SERVER;
}

/** Whether a server that listens on `host` can be reached only from its own machine. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

/** Whether two ranges overlap. */
export function rangesOverlap([first, firstBits]: Cidr, [second, secondBits]: Cidr): boolean {
  return first.kind() === second.kind() && first.match(second, Math.min(firstBits, secondBits));
}
