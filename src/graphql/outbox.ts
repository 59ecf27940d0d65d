import type { WebSocket } from 'ws';
import type { Backlog } from '../limits/backlog.ts';

/**
 * So much is handed to the socket before its client reads. The rest waits here, where it can be taken back, so that a
 * close frame is not behind all of it.
 */
const WINDOW_BYTES = 64 * 1024;

type Frame = { data: Buffer; settle: (error?: Error) => void };

export type Outbox = {
  /** Resolves when the message has left this process; rejects once it cannot any more. */
  send(message: string): Promise<void>;
  /** Takes back what was not handed to the socket. Returns the bytes that were and still wait. */
  discard(): number;
};

/** What one socket sends, in order, as fast as its client reads. */
export function createOutbox(socket: WebSocket, backlog: Pick<Backlog, 'hold'>): Outbox {
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
        const release = backlog.hold(data.length);
        waiting.push({
          data,
          settle(error) {
            release();
            if (error) reject(error);
            else resolve();
          },
        });
        // Nothing follows the close frame.
        if (socket.readyState !== socket.OPEN) discard();
        else write();
      }),
    discard,
  };
}
