import type { ServerResponse } from 'node:http';
import { resetConnection } from '../../http/reset-connection.ts';

export type ResponsePacing = {
  /** How long a buyer may go without reading. */
  idleMilliseconds: number;
  /** The slowest average rate allowed, after a grace period of `idleMilliseconds`. */
  minBytesPerSecond: number;
};

const DEFAULT_PACING: ResponsePacing = { idleMilliseconds: 30_000, minBytesPerSecond: 32 * 1024 };

/**
 * Closes the connection if a buyer doesn't read the response, to free its memory. Call this before sending. Nothing
 * is lost: the buyer can retry the request.
 *
 * @param bytes the size of the body.
 */
export function paceResponse(response: ServerResponse, bytes: number, pacing: ResponsePacing = DEFAULT_PACING): void {
  const { idleMilliseconds, minBytesPerSecond } = pacing;
  const end = () => resetConnection(response);
  // Node checks how much is still waiting to be written. As long as that amount shrinks, the connection isn't idle.
  response.setTimeout(idleMilliseconds, end);
  const timer = setTimeout(end, idleMilliseconds + (bytes / minBytesPerSecond) * 1000);
  response.once('close', () => clearTimeout(timer));
}

/**
 * Like `paceResponse`, but for a streamed response, whose size isn't known. While the upstream is silent, there is
 * nothing to read, so only the time during which bytes are waiting for the buyer counts.
 */
export function paceStream(response: ServerResponse, { idleMilliseconds }: ResponsePacing = DEFAULT_PACING): void {
  response.setTimeout(idleMilliseconds, () => {
    if (response.writableLength > 0) resetConnection(response);
  });
}
