import type { ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Backlog } from '../limits/backlog.ts';

/** What is written must have left this process by then. */
export const STALL_MILLISECONDS = 30_000;
/** So much, or one message, is made while another waits to be written. */
const READ_AHEAD_BYTES = 64 * 1024;

/** Sends server-sent events as fast as their client reads, and drops it when it does not. */
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

  /** Resolves when the chunk has left this process, or the client. */
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
    // Reading fails too when it was ended because the client has left.
    if (response.destroyed) return;
    log.error({ err: error }, 'an event stream failed');
    response.destroy();
  }
}
