import type { Config } from './config.ts';

/** The host names that belong to the service itself. */
export type OwnHosts = {
  /**
   * Whether this name belongs to the service, so projects can't have it. The name must be in lowercase, without a port
   * or trailing dot.
   */
  includes(host: string): boolean;
};

/**
 * The service's own names are the host of `PUBLIC_URL` and the address it listens on. Their subdomains and
 * parent domains belong to the service too, because people trust those just as much, and cookies and certificates are
 * often valid for them.
 *
 * @returns undefined in production without `PUBLIC_URL`, because then the service's name is unknown.
 */
export function ownHostsOf({
  host,
  publicUrl,
  production,
}: Pick<Config, 'host' | 'publicUrl' | 'production'>): OwnHosts | undefined {
  if (production && !publicUrl) return undefined;
  const names = [host, ...(publicUrl ? [new URL(publicUrl).hostname] : [])].map((name) =>
    name.toLowerCase().replace(/\.$/, ''),
  );
  return { includes: (asked) => names.some((own) => isSameOrUnder(asked, own) || isSameOrUnder(own, asked)) };
}

function isSameOrUnder(name: string, domain: string): boolean {
  return name === domain || name.endsWith(`.${domain}`);
}
