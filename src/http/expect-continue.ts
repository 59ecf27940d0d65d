import type { IncomingMessage, Server, ServerResponse } from 'node:http';

/**
 * Clients that send `Expect: 100-continue` wait before they send a body. By default, Node tells every client to go on
 * immediately. This tells them only when something reads the body, so that a request that is refused, or that needs a
 * payment first, gets its response without the body being sent (RFC 9110 §10.1.1).
 */
export function continueWhenRead(server: Server): void {
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    request.on('newListener', function onListener(name) {
      if (name !== 'data' && name !== 'readable') return;
      request.off('newListener', onListener);
      if (!response.headersSent && !response.destroyed) response.writeContinue();
    });
    server.emit('request', request, response);
  });
  // Other expectations may be ignored.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}
