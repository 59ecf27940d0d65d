import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { z } from 'zod';
import type { OwnHosts } from '../../config/own-hosts.ts';

const MAX_LENGTH = 253;
// RFC 1123 §2.1: at most 63 letters, digits, and inner hyphens.
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Domains whose names have a meaning inside a network, such as `metadata.google.internal`, or that no DNS server on the
 * internet resolves. https://www.iana.org/assignments/special-use-domain-names
 */
const PRIVATE_DOMAINS = [
  'alt',
  'arpa',
  'home',
  'corp',
  'internal',
  'intranet',
  'invalid',
  'lan',
  'local',
  'localdomain',
  'mail',
  'onion',
];
/** Domains for local development (RFC 6761). */
const DEVELOPMENT_DOMAINS = ['example', 'localhost', 'test'];

/** Matches names that nobody can prove ownership of. In development, they count as verified. */
export const DEVELOPMENT_HOST = `\\.(${DEVELOPMENT_DOMAINS.join('|')})$`;

export const isDevelopmentHost = (host: string): boolean => new RegExp(DEVELOPMENT_HOST).test(host);

/** The host names that projects can't have. */
export type HostRules = {
  /** The service's own names. If undefined, they are unknown and every host name is rejected. */
  ownHosts: OwnHosts | undefined;
  production: boolean;
};

/**
 * Normalizes a project's host name to its stored form: lowercase, and ASCII for international names. Rejects ports, IP
 * addresses, names that aren't on the public internet, and the service's own names.
 */
export function gatewayHostInput({ ownHosts, production }: HostRules) {
  const reserved = new Set(production ? [...PRIVATE_DOMAINS, ...DEVELOPMENT_DOMAINS] : PRIVATE_DOMAINS);
  return z
    .string()
    .meta({ maxLength: MAX_LENGTH })
    .transform((text, context) => {
      const refuse = (message: string) => {
        context.addIssue({ code: 'custom', message });
        return z.NEVER;
      };
      // domainToASCII uses a URL parser, which would decode `%61`, read `0x7f.1` as an IP address, and cut off the `/b`
      // in `a/b`.
      const isReadable = text.length <= MAX_LENGTH && /^[\p{L}\p{M}\p{N}.-]+$/u.test(text);
      const host = isReadable ? domainToASCII(text) : '';
      const labels = host.split('.');
      if (host.length > MAX_LENGTH || labels.length < 2 || !labels.every((label) => LABEL.test(label)))
        return refuse('Must be a domain without a scheme, port, or path, for example, "api.example.com".');
      const domain = labels.at(-1)!;
      if (isIP(host) !== 0 || /^\d+$/.test(domain)) return refuse('Must be a domain, not an IP address.');
      if (reserved.has(domain))
        return refuse(
          `Must be a name on the public internet, for example, "api.example.com". Names under ".${domain}" aren't public.`,
        );
      if (!ownHosts)
        return refuse('Custom domains are not available until the operator of this service sets PUBLIC_URL.');
      if (ownHosts.includes(host))
        return refuse(
          'This domain belongs to the service itself, or is one of its subdomains or parent domains. Use your own domain.',
        );
      return host;
    });
}
