import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { parseAddress } from '../egress/address.ts';

/** Whether an address belongs to a trusted proxy, so its `X-Forwarded-For` can be used. */
export type TrustsProxy = (address: string) => boolean;

/**
 * Creates the check from a list of addresses and CIDR blocks.
 *
 * @throws Error if an item is anything else.
 */
export function trustProxies(proxies: readonly string[]): TrustsProxy {
  const networks = proxies.map((text) => {
    if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
    const address = parseAddress(text);
    if (!address) throw new Error(`TRUSTED_PROXIES: ${text} is not an IP address or a CIDR block`);
    return [address, address.kind() === 'ipv4' ? 32 : 128] as const;
  });
  return (text) => {
    const address = parseAddress(text);
    if (!address) return false;
    return networks.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
  };
}

/** The address that a request comes from: the nearest hop that isn't a trusted proxy, or else the farthest hop. */
export function clientAddress(request: IncomingMessage, trustsProxy: TrustsProxy): string {
  const forwarded = [request.headers['x-forwarded-for'] ?? []].flat().join(',').split(',');
  const hops = [...forwarded.map((hop) => hop.trim()).filter(Boolean), request.socket.remoteAddress ?? ''];
  return hops.findLast((hop) => !trustsProxy(hop)) ?? hops[0]!;
}
