import type { FastifyRequest } from 'fastify';
import { isSameOrUnder } from '../../config/domains.ts';
import { requestedUrl } from '../../http/requested-url.ts';

export const PREFIX = '/gateway/';

/** The address where buyers reach a project. */
export type PublicAddress = {
  protocol: string;
  /** The host, with its port if it isn't the protocol's default. */
  host: string;
  /** The base URL for the project's endpoint paths. */
  base: string;
};

/** Whether a request came to a project's own host. */
export function isHostMapped({ raw, originalUrl }: Pick<FastifyRequest, 'raw' | 'originalUrl'>): boolean {
  return originalUrl !== raw.url;
}

/**
 * Whether a request came to a name under the operator's domain for projects, if there is one. Such a name can pass to
 * another seller.
 */
export function isDefaultDomain({ raw }: Pick<FastifyRequest, 'raw'>, gatewayDomain: string | undefined): boolean {
  return gatewayDomain !== undefined && isSameOrUnder(hostNameOf(raw.headers.host ?? ''), gatewayDomain);
}

/**
 * The address of the project that a request is for. Buyers and upstreams trust it, so it is made from what the service
 * knows: its public URL and the project's own host name. Without a public URL, the service has to trust the request.
 *
 * @throws AppError `BAD_REQUEST` if it would have to trust an invalid host.
 */
export function publicAddressOf(
  request: FastifyRequest,
  projectId: string,
  publicUrl: string | undefined,
): PublicAddress {
  const mapped = isHostMapped(request) ? request.raw.headers.host : undefined;
  const url = publicUrl === undefined ? requestedUrl(request, mapped ?? request.host) : new URL(publicUrl);
  if (mapped === undefined) {
    const base = `${publicUrl ?? url.origin}${PREFIX}${projectId}`;
    return { protocol: url.protocol.slice(0, -1), host: url.host, base };
  }
  // The name is the project's, because it was found in the route table.
  url.hostname = hostNameOf(mapped);
  return { protocol: url.protocol.slice(0, -1), host: url.host, base: url.origin };
}

/** The name in a Host header (RFC 9110 §7.2) in lowercase, without a port or trailing dot. */
export function hostNameOf(host: string): string {
  return host.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase();
}
