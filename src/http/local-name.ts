import type { FastifyRequest } from 'fastify';
import { isLoopback } from '../egress/address.ts';
import { AppError } from '../errors.ts';

/** Whether a host name, such as one in a request or in an origin, belongs to this machine. */
export function isLocalName(hostname: string): boolean {
  return isLoopback(hostname.replace(/^\[|\]$/g, ''));
}

/**
 * Requires that a program on this machine sent the request to a local name, without a proxy in between. A proxy's
 * requests also come from this machine, but anyone could have set the headers that it passes on, so none of those
 * headers are trusted here. The `Host` header must be local because another site can make its own host name resolve to
 * this machine (DNS rebinding). A proxy that adds no header and changes `Host` to a local name can't be recognized.
 *
 * @throws AppError `FORBIDDEN`
 */
export function requireDirectCall({ raw, headers }: Pick<FastifyRequest, 'raw' | 'headers'>): void {
  const isForwarded = Object.keys(headers).some((name) => /^(forwarded|via|x-forwarded-.*|x-real-ip)$/.test(name));
  const peer = raw.socket.remoteAddress?.replace(/^::ffff:/, '') ?? '';
  const host = URL.parse(`http://${headers.host}`)?.hostname ?? '';
  if (isForwarded || !isLoopback(peer) || !isLocalName(host)) throw new AppError('FORBIDDEN');
}
