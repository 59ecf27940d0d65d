import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { EgressError } from './egress-error.ts';

/** Servers send two to four after a handshake. */
const MAX_TICKETS = 100;
/** Node doesn't announce sessions over 10 KB. Such a session contains a large certificate of the server. */
const LARGE_SESSION_BYTES = 8_192;
const CHECK_MILLISECONDS = 20;
/** Enough for the handshake, whose messages have at most about 100 KB. */
const MAX_OTHER_BYTES = 262_144;
/** The smallest record has a single byte of a response, and about this many others. */
const MAX_OTHER_BYTES_PER_BYTE = 32;

/**
 * Closes a connection if its server sends many session tickets. They aren't part of any response, so nothing else limits
 * them, and each takes as long to read as a whole record of a response.
 *
 * @param transport the connection that `socket` encrypts.
 */
export function limitTickets(socket: TLSSocket, transport: Pick<Socket, 'bytesRead'>): void {
  let tickets = 0;
  const close = () => void socket.destroy(new EgressError('protocol_error'));
  socket.on('session', () => {
    if (++tickets > MAX_TICKETS) close();
  });
  socket.once('secureConnect', () => {
    if ((socket.getSession()?.length ?? 0) < LARGE_SESSION_BYTES) return;
    const timer = setInterval(() => {
      if (transport.bytesRead > MAX_OTHER_BYTES + MAX_OTHER_BYTES_PER_BYTE * socket.bytesRead) close();
    }, CHECK_MILLISECONDS).unref();
    socket.once('close', () => clearInterval(timer));
  });
}
