import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { addRawHandler } from './raw-handler.ts';

/** Browsers and HTTP libraries wait for each response before they send the next request. */
const MAX_UNANSWERED = 16;
/**
 * How much a connection may send behind a request that has no response yet. Node keeps up to 64 KB of each body until the
 * response has been sent, even if nothing needs the body.
 */
const MAX_BEHIND_BYTES = 64 * 1024;

/**
 * The responses of each connection that haven't ended, in the order of their requests, and how many bytes had been read
 * when each request arrived.
 */
const unanswered = new WeakMap<Socket, Map<ServerResponse, number>>();

/** Whether a response has been started on a connection, so that whatever is written there would become part of it. */
export function isResponding(socket: Socket): boolean {
  const [current] = unanswered.get(socket)?.keys() ?? [];
  return current?.headersSent ?? false;
}

/**
 * Closes connections with too many or too large requests that are still waiting for their responses. Node reads hundreds of
 * requests from a connection before anything else gets its turn, so a few connections could occupy the process for many
 * seconds. Large requests would take a megabyte of memory per connection that counts toward no limit.
 */
export function limitPipelines(server: Server): void {
  addRawHandler(server, ({ socket }, response) => {
    // Node still emits the requests that it has already read.
    if (socket.destroyed) return true;
    const responses = unanswered.get(socket) ?? new Map();
    unanswered.set(socket, responses.set(response, socket.bytesRead));
    // The body of the first request doesn't count, because it is being handled.
    const [, behindSince = socket.bytesRead] = responses.values();
    if (responses.size > MAX_UNANSWERED || socket.bytesRead - behindSince > MAX_BEHIND_BYTES) {
      socket.destroy();
      return true;
    }
    response.once('close', () => responses.delete(response));
    return false;
  });
}
