import type { IncomingMessage } from 'node:http';

/** Without credentials or a fragment, which no client sends. */
const ABSOLUTE = /^https?:\/\/([^/?#@\s]+)((?:[/?].*)?)$/is;
const CREDENTIALS = /(?<=^https?:\/\/)[^/?#\s]*@/i;

/**
 * Clients that are set up to use a proxy send whole URLs as targets, such as `GET http://host/path`. Servers must accept
 * them, and use the host in the target instead of the one in `Host` (RFC 9112 §3.2.2). Changes the request accordingly,
 * including `originalUrl`, which Fastify has already set.
 *
 * Other targets aren't served. If they have credentials, which is an error (RFC 9110 §4.2.4), these are removed, so that
 * they aren't logged.
 */
export function useOriginForm(request: Pick<IncomingMessage, 'url' | 'headers'> & { originalUrl?: string }): void {
  const { url = '' } = request;
  const [, host, rest = ''] = ABSOLUTE.exec(url) ?? [];
  if (host === undefined) request.url = url.replace(CREDENTIALS, '');
  else {
    request.headers.host = host;
    request.url = rest.startsWith('/') ? rest : `/${rest}`;
  }
  if (request.originalUrl !== undefined) request.originalUrl = request.url;
}
