import type { Config } from './config.ts';
import { isSameOrUnder } from './domains.ts';

/** The host names that belong to the service itself. */
export type OwnHosts = {
  /**
   * Whether this name belongs to the service, so projects can't have it. The name must be in lowercase, without a port
   * or trailing dot.
   */
  includes(host: string): boolean;
};

/**
 * The service's own names are the host of `PUBLIC_URL`, `GATEWAY_DOMAIN`, and the address it listens on. Their
 * subdomains and parent domains belong to the service too, because people trust them just as much, and cookies and
 * certificates are often valid for them.
 *
 * @returns undefined in production without `PUBLIC_URL`, because then the service's name is unknown.
 */
export function ownHostsOf({
  host,
  publicUrl,
  gatewayDomain,
  production,
}: Pick<Config, 'host' | 'publicUrl' | 'production'> & Partial<Pick<Config, 'gatewayDomain'>>): OwnHosts | undefined {
  if (production && !publicUrl) return undefined;
  const known = [...(publicUrl ? [new URL(publicUrl).hostname] : []), ...(gatewayDomain ? [gatewayDomain] : [])];
  const names = [host, ...known].map((name) => name.toLowerCase().replace(/\.$/, ''));
  return { includes: (asked) => names.some((own) => isSameOrUnder(asked, own) || isSameOrUnder(own, asked)) };
}
