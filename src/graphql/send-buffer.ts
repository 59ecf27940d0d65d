import type { WebSocket } from 'ws';
import type { Backlog } from '../limits/backlog.ts';

/**
 * How many bytes to pass to the socket before the client reads them. The rest waits here, where it can be discarded, so
 * a close frame doesn't have to wait for it.
 */
const WINDOW_BYTES = 64 * 1024;
/** Roughly what a message takes in memory in addition to its text, as long as it waits for something. */
export const MESSAGE_OVERHEAD_BYTES = 1_024;

type Frame = { data: Buffer; settle: (error?: Error) => void };

export type SendBuffer = {
  /** Resolves when the message has left this process. Rejects if it never will. */
  send(message: string): Promise<void>;
  /** Discards the messages that haven't been passed to the socket. Returns the number of bytes still in the socket. */
  discard(): number;
};

/** Sends a socket's messages in order, as fast as the client reads them. */
export function createSendBuffer(socket: WebSocket, backlog: Pick<Backlog, 'reserve'>): SendBuffer {
  const waiting: Frame[] = [];

  function write(): void {
    while (waiting.length > 0 && socket.bufferedAmount < WINDOW_BYTES) {
      const { data, settle } = waiting.shift()!;
      socket.send(data, { binary: false }, (error) => {
        settle(error ?? undefined);
        write();
      });
    }
  }

  function discard(): number {
    for (const { settle } of waiting.splice(0)) settle(new Error('The socket is closing.'));
    return socket.bufferedAmount;
  }

  return {
    send: (message) =>
      new Promise((resolve, reject) => {
        const data = Buffer.from(message);
        const release = backlog.reserve(data.length + MESSAGE_OVERHEAD_BYTES);
        waiting.push({
          data,
          settle(error) {
            release();
            if (error) reject(error);
            else resolve();
          },
        });
        // Don't send anything after the close frame.
        if (socket.readyState !== socket.OPEN) discard();
        else write();
      }),
    discard,
  };
}
