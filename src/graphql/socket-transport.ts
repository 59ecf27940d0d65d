import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Server } from 'graphql-ws';
import type { Logger } from 'pino';
import type { RawData, WebSocket, WebSocketServer } from 'ws';
import type { Backlog, Backlogs } from '../limits/backlog.ts';
import { createSendBuffer, MESSAGE_OVERHEAD_BYTES } from './send-buffer.ts';

/** The socket details that are available to the protocol's hooks. */
export type SocketHandle = {
  socket: WebSocket;
  request: IncomingMessage;
  backlog: Backlog;
  /** Closes the socket. If its client hasn't authenticated, it must complete the closing handshake quickly. */
  close(code: number, reason: string): void;
};

const INTERNAL_ERROR = 4500;
const INVALID_MESSAGE = 4400;
const TRY_AGAIN_LATER = 1013;
const PING_BYTES = 8;
/** RFC 6455 §5.5: a control frame has at most 125 bytes, and the code takes two. */
const MAX_REASON_BYTES = 123;
/**
 * How long unauthenticated clients may take to complete the closing handshake. For all other clients, the library
 * allows 30 seconds.
 */
const UNAUTHENTICATED_CLOSING_MILLISECONDS = 1_000;

/**
 * Runs graphql-transport-ws over a server's sockets, and drops sockets whose clients don't read. Unlike
 * `graphql-ws/use/ws`, it doesn't print client errors to the console.
 */
export function attachTransport<Extra extends SocketHandle>(
  protocol: Server<Extra>,
  sockets: WebSocketServer,
  options: {
    log: Logger;
    backlogs: Backlogs;
    pingMilliseconds: number;
    /** The owner of the backlog until the client has authenticated. */
    unauthenticatedOwnerOf(request: IncomingMessage): string;
    extraOf(handle: SocketHandle): Extra;
    /** Whether the socket's client hasn't authenticated. */
    isUnauthenticated(extra: Extra): boolean;
    /** Called when the socket is closed. */
    onGone(extra: Extra): void;
  },
): void {
  const { log, backlogs, pingMilliseconds, unauthenticatedOwnerOf, extraOf, isUnauthenticated, onGone } = options;
  sockets.on('connection', (socket, request) => {
    const fail = (error: unknown) => {
      if (socket.readyState !== socket.OPEN) return;
      log.error({ err: error }, 'unexpected error in a socket');
      socket.close(INTERNAL_ERROR, 'Internal server error');
    };
    const backlog = backlogs.open(unauthenticatedOwnerOf(request), {
      drop() {
        clearInterval(pings);
        socket.close(TRY_AGAIN_LATER, "You're reading too slowly; resume from your last cursor");
        const left = sendBuffer.discard();
        // End the socket's operations now, without waiting for the client to close its side.
        end(TRY_AGAIN_LATER, '');
        return left;
      },
      cut: () => socket.terminate(),
    });
    const sendBuffer = createSendBuffer(socket, backlog);
    let termination: NodeJS.Timeout | undefined;
    const close = (code: number, reason: string) => {
      socket.close(code, shortReason(reason));
      if (isUnauthenticated(extra))
        termination ??= setTimeout(() => socket.terminate(), UNAUTHENTICATED_CLOSING_MILLISECONDS);
    };
    const extra: Extra = extraOf({ socket, request, backlog, close });
    const closed = protocol.opened(
      {
        protocol: socket.protocol,
        // Waits until the message has left this process, so nothing is produced faster than the client reads. Fails
        // once the socket is closed, which ends the operation.
        send: sendBuffer.send,
        close,
        onMessage: (handle) =>
          socket.on('message', (data: RawData) => {
            // Ignore messages while closing.
            if (socket.readyState !== socket.OPEN) return;
            const message = String(data);
            // The message counts as waiting until its operation ends.
            const release = backlog.reserve(message.length + MESSAGE_OVERHEAD_BYTES);
            handle(message)
              .catch((error) => (isMisuse(error) ? close(INVALID_MESSAGE, 'Invalid message received') : fail(error)))
              .finally(release);
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

    // Only a client that has read the ping knows its payload. An unsolicited pong doesn't show that the client is
    // reading.
    let asked: Buffer | undefined;
    const pings = setInterval(() => {
      if (asked) return backlog.drop();
      asked = randomBytes(PING_BYTES);
      socket.ping(asked);
    }, pingMilliseconds);
    socket.on('pong', (data) => {
      if (asked?.equals(data)) asked = undefined;
    });
    socket.on('error', (error) => log.debug({ err: error }, 'a socket failed'));
    socket.once('close', (code, reason) => {
      clearInterval(pings);
      clearTimeout(termination);
      end(code, String(reason));
      sendBuffer.discard();
      backlog.close();
      onGone(extra);
    });
  });
}

/** Whether the library failed because of the client: a message that only servers send, or a payload that is nested too deeply. */
function isMisuse(error: unknown): boolean {
  return (
    error instanceof RangeError || (error instanceof Error && error.message.startsWith('Unexpected message of type'))
  );
}

/** The protocol's reasons can contain a client's ID, which may be longer than a frame. */
function shortReason(reason: string): string {
  const bytes = Buffer.from(reason);
  if (bytes.length <= MAX_REASON_BYTES) return reason;
  // Removes half a character at the end.
  return bytes.toString('utf8', 0, MAX_REASON_BYTES).replace(/\ufffd+$/, '');
}
