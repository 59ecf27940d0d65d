import type { FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';

const HOST = /^[\w.:[\]-]+$/;

/**
 * The scheme and host that a request was sent to, as a URL without a path. It is only as trustworthy as the request, so
 * use it only if the service doesn't know its public URL, and don't keep it for other requests.
 *
 * @param host the host in the request, perhaps as reported by a trusted proxy.
 * @throws AppError `BAD_REQUEST` if it isn't a host.
 */
export function requestedUrl({ protocol }: Pick<FastifyRequest, 'protocol'>, host: string): URL {
  // A proxy may pass on any protocol that the client claims.
  const url = HOST.test(host) ? URL.parse(`${protocol === 'https' ? 'https' : 'http'}://${host}`) : null;
  if (url) return url;
  throw new AppError('BAD_REQUEST', { detail: 'The `Host` header must be a host name, optionally with a port.' });
}
