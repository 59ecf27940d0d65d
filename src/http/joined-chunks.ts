import type { IncomingMessage, Server } from 'node:http';
import { hasNoBody } from './empty-body.ts';
import { addRawHandler } from './raw-handler.ts';

/** Larger chunks are passed on as they are. */
const SMALL_BYTES = 1_024;
/** How many chunks of a body are passed on as they are, whatever their size. Most bodies have fewer. */
const MAX_SEPARATE = 64;
const JOINED_BYTES = 4_096;
/** How long a small chunk may wait for others. */
const JOIN_MILLISECONDS = 100;
/**
 * Reading a chunk takes about the same time whatever its size, so a body with more chunks than this must have larger ones
 * on average.
 */
const MAX_TINY_CHUNKS = 1_024;
const MIN_AVERAGE_CHUNK_BYTES = 16;

/**
 * Joins the small chunks of request bodies, no matter who reads the bodies, or whether anyone does. Until a chunk is used,
 * it takes hundreds of bytes of memory in addition to its own, so a body of 64 KB in chunks of one byte would take 20 MB.
 *
 * Connections with too many tiny chunks are closed.
 *
 * @param joinMilliseconds how long a small chunk may wait for others.
 */
export function joinChunks(server: Server, joinMilliseconds: number = JOIN_MILLISECONDS): void {
  addRawHandler(server, (request) => {
    if (!hasNoBody(request)) joinChunksOf(request, joinMilliseconds);
    return false;
  });
}

function joinChunksOf(request: IncomingMessage, joinMilliseconds: number): void {
  const passOn = request.push.bind(request);
  let count = 0;
  let bytes = 0;
  let joined: Buffer | undefined;
  let joinedBytes = 0;
  let timer: NodeJS.Timeout | undefined;
  request.once('close', () => clearTimeout(timer));

  function flush(): boolean {
    clearTimeout(timer);
    timer = undefined;
    if (joinedBytes === 0 || request.destroyed) return true;
    const chunk = joined!.subarray(0, joinedBytes);
    joinedBytes = 0;
    // A copy with memory of its own, so that the rest of `joined` isn't kept with it.
    if (chunk.length < JOINED_BYTES) return passOn(Buffer.from(new Uint8Array(chunk).buffer));
    joined = undefined;
    return passOn(chunk);
  }

  // Node's parser calls this with each chunk, and with null at the end.
  request.push = (chunk: Buffer | null) => {
    if (chunk === null) {
      flush();
      return passOn(null);
    }
    count += 1;
    bytes += chunk.length;
    if (count > MAX_TINY_CHUNKS + bytes / MIN_AVERAGE_CHUNK_BYTES) {
      request.socket.destroy();
      return false;
    }
    if (count <= MAX_SEPARATE || chunk.length > SMALL_BYTES) {
      flush();
      return passOn(chunk);
    }
    if (joinedBytes + chunk.length > JOINED_BYTES) flush();
    joined ??= Buffer.allocUnsafeSlow(JOINED_BYTES);
    joinedBytes += chunk.copy(joined, joinedBytes);
    if (joinedBytes === JOINED_BYTES) return flush();
    timer ??= setTimeout(flush, joinMilliseconds).unref();
    return request.readableLength < request.readableHighWaterMark;
  };
}
