import * as ws from 'ws';
import { requireMember } from '../library-member.ts';

/** The part of the library that puts messages together. Its types aren't public. */
export type Receiver = {
  /** Whether the frame that has just arrived is the last one of its message. */
  _fin: boolean;
  /** The size of the message's frames. */
  _messageLength: number;
  /** What the library does next. */
  _state: number;
  /** The frames of the message that have arrived. */
  _fragments: Buffer[];
  /** Called with each frame of a message. */
  dataMessage(done: (error?: Error) => void): void;
};

/** Checks the library's function that `keepOnlyFrames` and `takeMessageTurns` replace. */
export function requireReceiver(): void {
  requireMember('ws 8.23.0', ws, 'Receiver.prototype.dataMessage');
}

/** The part of the library that puts a socket's messages together. */
export const receiverOf = (socket: ws.WebSocket): Receiver => (socket as unknown as { _receiver: Receiver })._receiver;

/**
 * Copies the frames of a message that isn't complete yet. Otherwise, each of them keeps everything that was read from the
 * connection together with it, which can be 64 KB for a frame of one byte.
 */
export function keepOnlyFrames(socket: ws.WebSocket): void {
  const receiver = receiverOf(socket);
  const dataMessage = receiver.dataMessage.bind(receiver);
  receiver.dataMessage = (done) => {
    const { _fin: isLast, _fragments: frames } = receiver;
    const frame = frames.at(-1);
    if (!isLast && frame && frame.length < frame.buffer.byteLength)
      frames[frames.length - 1] = Buffer.from(new Uint8Array(frame).buffer);
    dataMessage(done);
  };
}
