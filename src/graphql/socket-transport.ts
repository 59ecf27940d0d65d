import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Server } from 'graphql-ws';
import type { Logger } from 'pino';
import type { RawData, WebSocket, WebSocketServer } from 'ws';
import type { Backlog, Backlogs } from '../limits/backlog.ts';
import { createOutbox } from './outbox.ts';

/** What the protocol's hooks get to know of a socket. */
export type SocketHandle = { socket: WebSocket; request: IncomingMessage; backlog: Backlog };

const INTERNAL_ERROR = 4500;
const TRY_AGAIN_LATER = 1013;
const PING_BYTES = 8;

/**
 * Carries graphql-transport-ws over the sockets of a server, and drops those that do not read. Like
 * `graphql-ws/use/ws`, which would write what clients do wrong to the console.
 */
export function carry<Extra extends SocketHandle>(
  protocol: Server<Extra>,
  sockets: WebSocketServer,
  options: {
    log: Logger;
    backlogs: Backlogs;
    pingMilliseconds: number;
    /** Whose backlog it is as long as nobody has signed in. */
    strangerOf(request: IncomingMessage): string;
    extraOf(handle: SocketHandle): Extra;
    /** Called when the socket is gone. */
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
        socket.close(TRY_AGAIN_LATER, 'You read too slowly; go on from your last cursor');
        const left = outbox.discard();
        // Its operations end now, and not when the client has closed its side or the time for that is over.
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
        // Waits until it has left this process, so that nobody produces faster than the client reads. Fails once the
        // socket is not open any more, which ends what was being sent.
        send: outbox.send,
        close: (code, reason) => socket.close(code, reason),
        onMessage: (handle) =>
          socket.on('message', (data: RawData) => {
            // Whoever is being closed is no longer heard.
            if (socket.readyState !== socket.OPEN) return;
            const message = String(data);
            // It is kept as long as its operation runs.
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

    // What is in a ping is known only to those who have read up to it: a pong that comes by itself proves nothing.
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
