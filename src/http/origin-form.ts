import type { IncomingMessage } from 'node:http';

/** Without a fragment, which no client sends. Credentials are left out, so that they aren't logged. */
const ABSOLUTE = /^https?:\/\/(?:[^/?#\s]*@)?([^/?#@\s]+)((?:[/?].*)?)$/is;

/**
 * Clients that are set up to use a proxy send whole URLs as targets, such as `GET http://host/path`. Servers must accept
 * them, and use the host in the target instead of the one in `Host` (RFC 9112 §3.2.2). Changes the request accordingly,
 * including `originalUrl`, which Fastify has already set. Other targets stay as they are.
 */
export function useOriginForm(request: Pick<IncomingMessage, 'url' | 'headers'> & { originalUrl?: string }): void {
  const [, host, rest = ''] = ABSOLUTE.exec(request.url ?? '') ?? [];
  if (host === undefined) return;
  request.headers.host = host;
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
  if (request.originalUrl !== undefined) request.originalUrl = request.url;
}
