import type { IncomingMessage, Server, ServerResponse } from 'node:http';

/**
 * Returns false if the next handler, and finally the framework, should handle the request. A handler that returns true can
 * also call `next` later for that.
 */
type RawHandler = (request: IncomingMessage, response: ServerResponse, next: () => void) => boolean;

/** Each server's handlers, in the order in which they were added. */
const handlersOf = new WeakMap<Server, RawHandler[]>();

/**
 * Lets `handle` respond to requests before the framework sees them, but after the handlers that were added earlier. It
 * must behave as the framework would.
 *
 * @param handle if it returns false, it must not have written anything to the response.
 * @throws Error if the framework hasn't added its one listener yet, because then it would also respond.
 */
export function addRawHandler(server: Server, handle: RawHandler): void {
  const known = handlersOf.get(server);
  if (known) {
    known.push(handle);
    return;
  }
  const listeners = server.listeners('request');
  if (listeners.length !== 1) throw new Error(`The server has ${listeners.length} request listeners instead of one.`);
  const handlers = [handle];
  handlersOf.set(server, handlers);
  server.removeAllListeners('request');
  const run = (request: IncomingMessage, response: ServerResponse, from: number): void => {
    for (let index = from; index < handlers.length; index++) {
      if (handlers[index]!(request, response, () => run(request, response, index + 1))) return;
    }
    for (const listener of listeners) listener.call(server, request, response);
  };
  server.on('request', (request, response) => run(request, response, 0));
}
