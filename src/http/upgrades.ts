import type { IncomingMessage, Server } from 'node:http';
import { hasNoBody } from './empty-body.ts';
import { linger } from './linger.ts';
import { addRawHandler } from './raw-handler.ts';

/** The path of the only socket that this service offers. */
const SOCKET_PATH = '/graphql';

/**
 * Whether a request asks for that socket. Any other upgrade is ignored, and the request gets the response that it would
 * get without it (RFC 9110 §7.8). For example, Java's HttpClient offers `h2c` with every request over plain http.
 *
 * @param target the path that is used to route the request.
 */
export function asksForSocket({ method, headers }: IncomingMessage, target: string): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && target.split('?')[0] === SOCKET_PATH;
}

/**
 * Closes the connection after a request with a body that asks for an upgrade, unless it gets the socket. Where such a body
 * ends isn't reliable, so nothing that follows on the connection may be read as a request.
 */
export function closeAfterIgnoredUpgrade(server: Server): void {
  addRawHandler(server, (request, response) => {
    if (request.headers.upgrade === undefined || hasNoBody(request)) return false;
    response.shouldKeepAlive = false;
    linger(request);
    return false;
  });
}
