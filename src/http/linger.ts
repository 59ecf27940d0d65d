import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** How long a client may take to notice the response while it is still sending. nginx's `lingering_timeout` is the same. */
export const LINGER_MILLISECONDS = 5_000;

/** The last refused request of each prepared connection. */
const refused = new WeakMap<Socket, IncomingMessage>();

/**
 * Makes sure that a client gets a response that is sent before its request has arrived. If the connection were closed
 * right after the response, the client's system would throw away what the client hasn't read yet, because more of the
 * request keeps arriving. So only the sending side is closed, and the rest of the request is dropped until it ends or
 * the client closes the connection (RFC 9112 §9.6).
 */
export function linger(request: IncomingMessage): void {
  const { complete, socket } = request;
  // A request that was injected in this process has no connection.
  if (complete || typeof socket.destroySoon !== 'function') return;
  const isPrepared = refused.has(socket);
  refused.set(socket, request);
  // A connection can have any number of refused requests.
  if (isPrepared) return;
  const close = socket.destroySoon.bind(socket);
  // Node calls this after the last response of a connection.
  socket.destroySoon = () => {
    const last = refused.get(socket)!;
    if (last.complete || socket.destroyed) return close();
    const timer = setTimeout(() => socket.destroy(), LINGER_MILLISECONDS).unref();
    socket.once('close', () => clearTimeout(timer));
    // Another request on this connection must not be served, because its response couldn't be sent.
    last.once('end', close);
    last.unpipe().resume();
    socket.end();
  };
}
