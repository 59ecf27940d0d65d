import type { ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Backlog } from '../limits/backlog.ts';

/** Written data must leave this process within this time. */
const STALL_MILLISECONDS = 30_000;
/** At most this much, or one message, is produced while another message waits to be written. */
const READ_AHEAD_BYTES = 64 * 1024;

/** Sends server-sent events as fast as the client reads them, and drops clients that don't read. */
export async function sendEventStream(
  body: ReadableStream<Uint8Array>,
  response: ServerResponse,
  {
    backlog,
    log,
    stallMilliseconds = STALL_MILLISECONDS,
  }: { backlog: Backlog; log: Logger; stallMilliseconds?: number },
): Promise<void> {
  const gone = new Promise<void>((resolve) => response.once('close', resolve));
  response.once('close', () => void Promise.resolve(body.cancel()).catch(() => {}));

  /** Resolves when the chunk has left this process, or the client is gone. */
  async function write(chunk: Uint8Array): Promise<void> {
    const release = backlog.hold(chunk.length + Math.max(chunk.length, READ_AHEAD_BYTES));
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
    log.error({ err: error }, 'an event stream failed');
    response.destroy();
  }
}
