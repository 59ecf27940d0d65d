import type { ServerResponse } from 'node:http';

/**
 * Ends a response that its client doesn't read. If some of it waits in this process, so does as much in the system's buffer
 * as fits there, which can be megabytes. After an ordinary close, the system would keep that for minutes and continue to
 * offer it to the client. It counts toward the memory of the container, so the connection is reset.
 */
export function resetConnection(response: ServerResponse): void {
  const { socket } = response;
  if (socket && socket.writableLength > 0) socket.resetAndDestroy();
  else response.destroy();
}
