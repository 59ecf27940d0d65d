import type { FastifyCorsOptions } from '@fastify/cors';
import type { FastifyRequest } from 'fastify';
import { isLocalName } from './local-name.ts';

/** The origins whose web pages may read responses. */
export type AllowedOrigins = {
  /** The origins in `CORS_ORIGINS`. */
  listed: readonly string[];
  /**
   * Whether pages from other servers on this machine, such as http://localhost:3000, may call the API. Use this only on
   * development servers that listen on loopback.
   */
  allowsLocal: boolean;
};

/** What decides whether a page from another origin has access: the path, the host name, and the `Origin` header. */
type Call = { url: string; hostname: string; origin: string | undefined };

/** The settings for a request. Handles preflights for every path. Routes handle other OPTIONS requests. */
export function corsOptions(request: FastifyRequest, { listed, allowsLocal }: AllowedOrigins): FastifyCorsOptions {
  const { url, hostname, headers, method } = request;
  const { origin } = headers;
  const isPreflight = origin !== undefined && 'access-control-request-method' in headers;
  const origins = allowsLocal && isLocalCall({ url, hostname, origin }) ? [...listed, origin!] : [...listed];
  if (origins.length === 0 || (method === 'OPTIONS' && !isPreflight)) return { origin: false };
  return {
    origin: origins,
    credentials: false,
    methods: ['GET', 'POST', 'PATCH', 'DELETE'],
    allowedHeaders: ['authorization', 'content-type', 'idempotency-key', 'tollgate-client', 'x-request-id'],
    exposedHeaders: [
      'content-disposition',
      'location',
      'link',
      'allow',
      'idempotency-replayed',
      'ratelimit',
      'ratelimit-policy',
      'retry-after',
      'x-request-id',
    ],
    hideOptionsRoute: true,
  };
}

/**
 * Whether a page from another server on this machine is calling this server's API. Only paths that need a credential
 * count, so no page can get a token from the dev issuer. The host must also be local: a name that another site has
 * pointed at this machine (DNS rebinding) isn't.
 */
export function isLocalCall({ url, hostname, origin = '' }: Call): boolean {
  const page = URL.parse(origin);
  const isPage = page !== null && page.origin === origin && /^https?:$/.test(page.protocol);
  const isApi = url.startsWith('/api/') || /^\/graphql(\?|$)/.test(url);
  return isPage && isApi && isLocalName(page.hostname) && isLocalName(hostname);
}
