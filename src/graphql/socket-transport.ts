import type { IncomingMessage } from 'node:http';
import type { Server } from 'graphql-ws';
import type { Logger } from 'pino';
import type { WebSocket, WebSocketServer } from 'ws';

/** What the protocol's hooks get to know of a socket. */
export type SocketHandle = { socket: WebSocket; request: IncomingMessage };

const INTERNAL_ERROR = 4500;

/**
 * Carries graphql-transport-ws over the sockets of a server, and cuts those that do not answer pings. Like
 * `graphql-ws/use/ws`, which would write what clients do wrong to the console.
 */
export function carry<Extra extends SocketHandle>(
  protocol: Server<Extra>,
  sockets: WebSocketServer,
  options: { log: Logger; pingMilliseconds: number; extraOf(handle: SocketHandle): Extra },
): void {
  const { log, pingMilliseconds, extraOf } = options;
  sockets.on('connection', (socket, request) => {
    const fail = (error: unknown) => {
      if (socket.readyState !== socket.OPEN) return;
      log.error({ err: error }, 'unexpected error in a socket');
      socket.close(INTERNAL_ERROR, 'Internal server error');
    };
    const closed = protocol.opened(
      {
        protocol: socket.protocol,
        // Resolves when it has left this process, so that nobody produces faster than the client reads. Fails once the
        // socket is not open any more, which ends what was being sent.
        send: (data) =>
          new Promise((resolve, reject) => socket.send(data, (error) => (error ? reject(error) : resolve()))),
        close: (code, reason) => socket.close(code, reason),
        onMessage: (handle) =>
          socket.on('message', (data) => {
            // Whoever is being closed is no longer heard.
            if (socket.readyState === socket.OPEN) handle(String(data)).catch(fail);
          }),
      },
      extraOf({ socket, request }),
    );
    let isAlive = true;
    const pings = setInterval(() => {
      if (!isAlive) return socket.terminate();
      isAlive = false;
      socket.ping();
    }, pingMilliseconds);
    socket.on('pong', () => {
      isAlive = true;
    });
    socket.on('error', (error) => log.debug({ err: error }, 'a socket failed'));
    socket.once('close', (code, reason) => {
      clearInterval(pings);
      closed(code, String(reason)).catch(fail);
    });
  });
}
