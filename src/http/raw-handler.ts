import type { IncomingMessage, Server, ServerResponse } from 'node:http';

/**
 * Lets `handle` respond to requests before the framework sees them. It must behave as the framework would.
 *
 * @param handle returns false if the framework should handle the request. In that case, it must not have changed the
 * response.
 * @throws Error if the framework hasn't added its one listener yet, because then it would also respond.
 */
export function addRawHandler(
  server: Server,
  handle: (request: IncomingMessage, response: ServerResponse) => boolean,
): void {
  const listeners = server.listeners('request');
  if (listeners.length !== 1) throw new Error(`The server has ${listeners.length} request listeners instead of one.`);
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    if (handle(request, response)) return;
    for (const listener of listeners) listener.call(server, request, response);
  });
}
