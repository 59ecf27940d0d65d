import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Server } from 'graphql-ws';
import type { Logger } from 'pino';
import type { RawData, WebSocket, WebSocketServer } from 'ws';
import type { Backlog, Backlogs } from '../limits/backlog.ts';
import { createOutbox } from './outbox.ts';

/** What the protocol's hooks know about a socket. */
export type SocketHandle = { socket: WebSocket; request: IncomingMessage; backlog: Backlog };

const INTERNAL_ERROR = 4500;
const TRY_AGAIN_LATER = 1013;
const PING_BYTES = 8;

/**
 * Runs graphql-transport-ws over a server's sockets, and drops sockets whose clients don't read. Unlike
 * `graphql-ws/use/ws`, it doesn't print client errors to the console.
 */
export function carry<Extra extends SocketHandle>(
  protocol: Server<Extra>,
  sockets: WebSocketServer,
  options: {
    log: Logger;
    backlogs: Backlogs;
    pingMilliseconds: number;
    /** Who the backlog belongs to before sign-in. */
    strangerOf(request: IncomingMessage): string;
    extraOf(handle: SocketHandle): Extra;
    /** Called when the socket is closed. */
    onGone(extra: Extra): void;
  },
): void {
  const { log, backlogs, pingMilliseconds, strangerOf, extraOf, onGone } = options;
  sockets.on('connection', (socket, request) => {
    const fail = (error: unknown) => {
      if (socket.readyState !== socket.OPEN) return;
      log.error({ err: error }, 'unexpected error in a socket');
      socket.close(INTERNAL_ERROR, 'Internal server error');
    };
    const backlog = backlogs.open(strangerOf(request), {
      drop() {
        clearInterval(pings);
        socket.close(TRY_AGAIN_LATER, "You're reading too slowly; resume from your last cursor");
        const left = outbox.discard();
        // End the socket's operations now instead of waiting for the client to close its side.
        end(TRY_AGAIN_LATER, '');
        return left;
      },
      cut: () => socket.terminate(),
    });
    const outbox = createOutbox(socket, backlog);
    const extra = extraOf({ socket, request, backlog });
    const closed = protocol.opened(
      {
        protocol: socket.protocol,
        // Waits until the message has left this process, so nothing is produced faster than the client reads. Fails
        // once the socket is closed, which ends the operation.
        send: outbox.send,
        close: (code, reason) => socket.close(code, reason),
        onMessage: (handle) =>
          socket.on('message', (data: RawData) => {
            // Ignore messages while closing.
            if (socket.readyState !== socket.OPEN) return;
            const message = String(data);
            // The message counts as waiting for as long as its operation runs.
            const release = backlog.hold(message.length);
            handle(message).catch(fail).finally(release);
          }),
      },
      extra,
    );
    let isEnded = false;
    function end(code: number, reason: string): void {
      if (isEnded) return;
      isEnded = true;
      closed(code, reason).catch(fail);
    }

    // Only a client that has read the ping knows its payload. An unsolicited pong proves nothing.
    let asked: Buffer | undefined;
    const pings = setInterval(() => {
      if (asked) return backlog.drop();
      asked = randomBytes(PING_BYTES);
      socket.ping(asked);
    }, pingMilliseconds);
    socket.on('pong', (answer) => {
      if (asked?.equals(answer)) asked = undefined;
    });
    socket.on('error', (error) => log.debug({ err: error }, 'a socket failed'));
    socket.once('close', (code, reason) => {
      clearInterval(pings);
      end(code, String(reason));
      outbox.discard();
      backlog.close();
      onGone(extra);
    });
  });
}
