import type { IncomingMessage } from 'node:http';

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
