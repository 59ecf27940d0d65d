import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { addRawHandler } from './raw-handler.ts';

/** Browsers and HTTP libraries wait for each response before they send the next request. */
const MAX_UNANSWERED = 16;

/**
 * Closes connections with too many requests that are still waiting for their responses. Node reads hundreds of requests
 * from a connection before anything else gets its turn, so a few connections could occupy the process for many seconds.
 */
export function limitPipelines(server: Server): void {
  const unanswered = new WeakMap<Socket, number>();
  const add = (socket: Socket, count: number) => {
    const sum = (unanswered.get(socket) ?? 0) + count;
    unanswered.set(socket, sum);
    return sum;
  };
  addRawHandler(server, ({ socket }, response) => {
    // Node still emits the requests that it has already read.
    if (socket.destroyed) return true;
    if (add(socket, 1) > MAX_UNANSWERED) {
      socket.destroy();
      return true;
    }
    response.once('close', () => add(socket, -1));
    return false;
  });
}
