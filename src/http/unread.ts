import type { Server } from 'node:http';
import { addRawHandler } from './raw-handler.ts';

/** How long a client may go without reading. */
const IDLE_MILLISECONDS = 30_000;

/**
 * Closes connections on which a response waits to be read, and nothing was read for a while. Otherwise, anyone could
 * keep any number of responses in memory forever. The connections are reset; see `resetConnection`.
 */
export function closeUnread(server: Server, idleMilliseconds: number = IDLE_MILLISECONDS): void {
  addRawHandler(server, ({ socket }, response) => {
    // Node starts the time again with each write, and as long as the amount that waits shrinks.
    response.setTimeout(idleMilliseconds, () => {
      if (socket.writableLength > 0) socket.resetAndDestroy();
    });
    return false;
  });
}
