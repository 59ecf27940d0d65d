import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Logger } from 'pino';
import { parseAddress } from '../egress/address.ts';

/** Where a request comes from. */
export type Client = {
  /** In its only spelling. Empty if the connection was closed before its address was read. */
  address: string;
  /**
   * The address is a proxy's: a trusted proxy didn't say where the request comes from, or a proxy isn't trusted. Others
   * have the same address, so it doesn't prove who the client is.
   */
  isAddressShared: boolean;
};

/** The proxies whose headers can be used. */
export type TrustedProxies = {
  /** Whether an address belongs to one of them. */
  trusts(address: string): boolean;
  /**
   * The nearest hop that isn't a trusted proxy, or else the farthest hop. Farther hops are ignored, because anyone can
   * claim them.
   */
  clientOf(request: Pick<IncomingMessage, 'headers' | 'socket'>): Client;
};

/** Proxies add these headers. A client that sends them itself counts as one. */
const ADDED_BY_PROXIES = ['x-forwarded-for', 'forwarded', 'via'] as const;
/** The ranges in which an operator's proxies are rather than buyers, who could otherwise cause the warning. */
const OF_OPERATORS: ReadonlySet<string> = new Set([
  'loopback',
  'private',
  'carrierGradeNat',
  'uniqueLocal',
  'linkLocal',
]);
/** With more characters, an entry isn't logged in full. */
const MAX_LOGGED_CHARACTERS = 50;
/** Some load balancers append a port, and write IPv6 addresses in brackets to keep the two apart. */
const WITH_PORT = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d{1,5})?$/;

/**
 * Creates the proxies from a list of addresses and CIDR blocks.
 *
 * @throws Error if an item is anything else.
 */
export function trustProxies(proxies: readonly string[], log: Pick<Logger, 'warn'>): TrustedProxies {
  const networks = proxies.map((text) => {
    if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
    const address = parseAddress(text);
    if (!address) throw new Error(`TRUSTED_PROXIES: ${text} is not an IP address or a CIDR block`);
    return [address, address.kind() === 'ipv4' ? 32 : 128] as const;
  });
  let hasWarned = false;
  let hasWarnedOfOther = false;

  function trusts(text: string): boolean {
    const address = networks.length > 0 ? readHop(text) : undefined;
    if (!address) return false;
    return networks.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
  }

  function warn(proxy: string, entry: string): void {
    if (hasWarned) return;
    hasWarned = true;
    log.warn(
      { proxy, entry: entry.slice(0, MAX_LOGGED_CHARACTERS) },
      "a proxy in TRUSTED_PROXIES sent an X-Forwarded-For entry that isn't an IP address, so the proxy's own address is used. Callers behind it share limits, and can repeat paid requests only with an Idempotency-Key. Make the proxy set X-Forwarded-For to the address that connected to it",
    );
  }

  function warnOfOther(proxy: string): void {
    if (hasWarnedOfOther || !OF_OPERATORS.has(parseAddress(proxy)?.range() ?? '')) return;
    hasWarnedOfOther = true;
    log.warn(
      { proxy },
      "requests with X-Forwarded-For come from an address that isn't in TRUSTED_PROXIES. Callers behind it share limits, and can repeat paid requests only with an Idempotency-Key. If it is your proxy, or Docker's address for it, add it",
    );
  }

  return {
    trusts,
    clientOf({ headers, socket }) {
      let address = readHop(socket.remoteAddress ?? '')?.toString() ?? '';
      if (!trusts(address)) {
        const isProxy = ADDED_BY_PROXIES.some((name) => headers[name] !== undefined);
        if (isProxy) warnOfOther(address);
        return { address, isAddressShared: isProxy };
      }
      const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').trim();
      for (const entry of forwarded === '' ? [] : forwarded.split(',').reverse()) {
        if (!trusts(address)) break;
        const hop = readHop(entry.trim());
        if (!hop) {
          warn(address, entry.trim());
          return { address, isAddressShared: true };
        }
        address = hop.toString();
      }
      return { address, isAddressShared: trusts(address) };
    },
  };
}

/** Reads an address, without its port and zone ID. Returns undefined for anything else, such as `unknown` (RFC 7239 §6.2). */
function readHop(text: string): ReturnType<typeof parseAddress> {
  const [, bracketed, dotted] = WITH_PORT.exec(text) ?? [];
  const address = bracketed ?? dotted ?? text;
  return parseAddress(isIPv6(address) ? address.split('%', 1)[0]! : address);
}
