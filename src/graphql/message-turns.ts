import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { sourceOf } from '../limits/failed-credentials.ts';
import { type Receiver, receiverOf } from './frame-memory.ts';

/**
 * How much of the messages of all sockets is handled in one turn of the event loop. Messages with many short keys take a
 * millisecond for 32 KB.
 */
const BYTES_A_TURN = 32 * 1024;
/** What each message counts in addition to its size. */
const MESSAGE_BYTES = 8 * 1024;
/** The library's state while it waits to pass on a message (`DEFER_EVENT`). */
const WAITING = 6;

export type MessageTurns = {
  /**
   * Calls `start` when it is the turn of a message from this client address, which may be immediately.
   *
   * @returns a function that gives up the turn.
   */
  take(source: string, bytes: number, start: () => void): () => void;
};

/**
 * Handles only a few messages in each turn of the event loop. The others wait, and client addresses take turns. After a
 * large message, no other is handled for as many turns as its size takes. Without this, each socket's next message is
 * handled in every turn: with 40 sockets, that takes 0.3 seconds, and each request needs dozens of turns.
 */
export function createMessageTurns(): MessageTurns {
  /** By client address. The one whose turn is next comes first. */
  const waiting = new Map<string, Set<{ bytes: number; start: () => void }>>();
  let leftBytes = BYTES_A_TURN;
  let isScheduled = false;

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(takeTurn);
  }

  function takeTurn(): void {
    isScheduled = false;
    leftBytes = Math.min(leftBytes + BYTES_A_TURN, BYTES_A_TURN);
    while (leftBytes > 0 && waiting.size > 0) startNext();
    if (leftBytes < BYTES_A_TURN) schedule();
  }

  function startNext(): void {
    const [source, messages] = waiting.entries().next().value!;
    const message = messages.values().next().value!;
    const { bytes, start } = message;
    messages.delete(message);
    waiting.delete(source);
    if (messages.size > 0) waiting.set(source, messages);
    leftBytes -= bytes;
    start();
  }

  return {
    take(source, messageBytes, start) {
      const messages = waiting.get(source) ?? new Set();
      waiting.set(source, messages);
      const message = { bytes: messageBytes + MESSAGE_BYTES, start };
      messages.add(message);
      if (leftBytes > 0) startNext();
      schedule();
      return () => {
        messages.delete(message);
        if (messages.size === 0 && waiting.get(source) === messages) waiting.delete(source);
      };
    },
  };
}

/**
 * Makes a socket's messages wait for their turns. Until then, the library reads nothing else from the socket, so each socket
 * has only one message that waits.
 *
 * @param connection the connection that the socket uses.
 * @param address of the client. For IPv6, its /64 counts.
 */
export function takeMessageTurns(socket: WebSocket, connection: Duplex, address: string, turns: MessageTurns): void {
  const source = sourceOf(address);
  const receiver: Receiver = receiverOf(socket);
  const passOn = receiver.dataMessage.bind(receiver);
  receiver.dataMessage = (done) => {
    if (!receiver._fin) return passOn(done);
    receiver._state = WAITING;
    // Once the connection has closed, passing on the message does nothing, except that the library can end the socket.
    const onClose = () => {
      giveUp();
      passOn(done);
    };
    connection.once('close', onClose);
    const giveUp = turns.take(source, receiver._messageLength, () => {
      connection.off('close', onClose);
      passOn(done);
    });
  };
}
