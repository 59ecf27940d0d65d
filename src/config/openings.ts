import { isLoopback } from '../egress/address.ts';
import { type EgressAllow, prefixBitsOf } from '../egress/allow-list.ts';
import { checkTargetUrl, hostnameOf } from '../egress/url.ts';
import type { VariableValues } from './variables.ts';

export const UNSAFE_URL = 'must be a public https URL, or an address in SERVICE_ALLOW';

/** The largest networks that may be allowed in production, as prefix lengths in bits. */
const MIN_BITS = { ipv4: 8, ipv6: 16 };

const TOO_LARGE = `a network that is too large. Use a prefix length of at least ${MIN_BITS.ipv4} (IPv4) or ${MIN_BITS.ipv6} (IPv6)`;
export const TOO_WIDE = `allows ${TOO_LARGE}`;
export const TRUSTS_TOO_MANY = `trusts ${TOO_LARGE}, and list only your load balancers: callers with a trusted address can claim any other`;

/** Whether an entry of an allow-list covers more addresses than any private network needs. */
export function isTooWide(entry: string): boolean {
  return prefixBitsOf(entry) < (entry.startsWith('[') ? MIN_BITS.ipv6 : MIN_BITS.ipv4);
}

/** Whether an item of `TRUSTED_PROXIES` covers so many addresses that callers could choose their own. */
export function trustsTooMany(proxy: string): boolean {
  const [, bits] = proxy.split('/');
  return bits !== undefined && Number(bits) < (proxy.includes(':') ? MIN_BITS.ipv6 : MIN_BITS.ipv4);
}

/**
 * Whether the text is an https URL with a public host or an address that the allow-list permits. Names under the
 * domains that RFC 6761 reserves don't count as public, because nobody can own them.
 */
export function isSafeUrl(text: string, allow: EgressAllow): boolean {
  const target = checkTargetUrl(text, allow);
  return target.ok && !/\.(invalid|test|example)$/.test(target.url.hostname);
}

/**
 * The default value of `EGRESS_ALLOW`: in development, any port on this machine or, if other machines can reach the
 * service, only the ports of `npm run receiver`, the sandbox's demo API, and the receiver of `npm run demo`.
 */
export function developmentAddresses({ NODE_ENV, PUBLIC_URL }: VariableValues, host: string): string {
  if (NODE_ENV !== 'development') return '';
  const isOnlyLocal = isLoopback(host) && (PUBLIC_URL === undefined || isLoopback(hostnameOf(new URL(PUBLIC_URL))));
  return isOnlyLocal
    ? '127.0.0.1/32:*,[::1]/128:*'
    : [4010, 4011, 4012].map((port) => `127.0.0.1/32:${port}`).join(',');
}
