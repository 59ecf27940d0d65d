import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { addRawHandler } from './raw-handler.ts';

/** Browsers and HTTP libraries wait for each response before they send the next request. */
const MAX_UNANSWERED = 16;

/** The responses of each connection that haven't ended, in the order of their requests. */
const unanswered = new WeakMap<Socket, Set<ServerResponse>>();

/** Whether a response has been started on a connection, so that whatever is written there would become part of it. */
export function isResponding(socket: Socket): boolean {
  const [current] = unanswered.get(socket) ?? [];
  return current?.headersSent ?? false;
}

/**
 * Closes connections with too many requests that are still waiting for their responses. Node reads hundreds of requests
 * from a connection before anything else gets its turn, so a few connections could occupy the process for many seconds.
 */
export function limitPipelines(server: Server): void {
  addRawHandler(server, ({ socket }, response) => {
    // Node still emits the requests that it has already read.
    if (socket.destroyed) return true;
    const responses = unanswered.get(socket) ?? new Set();
    unanswered.set(socket, responses.add(response));
    if (responses.size > MAX_UNANSWERED) {
      socket.destroy();
      return true;
    }
    response.once('close', () => responses.delete(response));
    return false;
  });
}
