import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * Clients can send further requests before they get the response to the first one, and Node sends the responses one after
 * the other (RFC 9112 §9.3.2). If a response that waits for its turn is destroyed, Node keeps what was written until then.
 * Closes its connection instead, as for any other response. Otherwise, responses that are dropped to free memory could
 * wait behind one that takes minutes.
 */
export function closeConnectionWith(response: ServerResponse, { socket }: IncomingMessage): void {
  const isWaiting = response.socket === null;
  if (!isWaiting) return;
  const destroy = response.destroy.bind(response);
  response.destroy = (error) => {
    socket.destroy(error);
    return destroy(error);
  };
}
