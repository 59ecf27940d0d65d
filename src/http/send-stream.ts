import type { ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { AppError } from '../errors.ts';
import type { Backlog } from '../limits/backlog.ts';

/** Written data must leave this process within this time. */
const STALL_MILLISECONDS = 30_000;
/** At most this many bytes, or one message, are produced while another message is waiting to be written. */
const READ_AHEAD_BYTES = 64 * 1024;

/**
 * Sends a stream as fast as the client reads it, and drops clients that don't read.
 *
 * @param options.cut how to end the response if the stream fails. Default: close the connection.
 */
export async function sendStream(
  body: AsyncIterable<Uint8Array> & { cancel?(): Promise<void> },
  response: ServerResponse,
  options: {
    backlog: Pick<Backlog, 'reserve' | 'drop'>;
    log: Logger;
    stallMilliseconds?: number | undefined;
    cut?: () => void;
  },
): Promise<void> {
  const { backlog, log, stallMilliseconds = STALL_MILLISECONDS, cut = () => void response.destroy() } = options;
  const gone = new Promise<void>((resolve) => response.once('close', resolve));
  response.once('close', () => void Promise.resolve(body.cancel?.()).catch(() => {}));

  /** Resolves when the chunk has left this process, or the client has disconnected. */
  async function write(chunk: Uint8Array): Promise<void> {
    const release = backlog.reserve(chunk.length + Math.max(chunk.length, READ_AHEAD_BYTES));
    const stalled = setTimeout(() => backlog.drop(), stallMilliseconds);
    await Promise.race([new Promise((resolve) => response.write(chunk, resolve)), gone]);
    clearTimeout(stalled);
    release();
  }

  try {
    for await (const chunk of body) {
      await write(chunk);
      if (response.destroyed) return;
    }
    response.end();
  } catch (error) {
    // Reading also fails after the client disconnects.
    if (response.destroyed) return;
    if (error instanceof AppError) log.info({ code: error.code }, 'a stream was ended early');
    else log.error({ err: error }, 'a stream failed');
    cut();
  }
}
