import type { ServerResponse } from 'node:http';

export type DeliveryLimits = {
  /** How long a buyer may take nothing. */
  idleMilliseconds: number;
  /** The slowest that a buyer may read, after those first milliseconds. */
  minBytesPerSecond: number;
};

const LIMITS: DeliveryLimits = { idleMilliseconds: 30_000, minBytesPerSecond: 32 * 1024 };

/**
 * Ends the connection of a buyer who does not read the answer, so that it does not stay in memory. Call it before the
 * answer is sent. Nothing is lost: the buyer may repeat the request.
 *
 * @param bytes of the body.
 */
export function limitDelivery(response: ServerResponse, bytes: number, limits: DeliveryLimits = LIMITS): void {
  const { idleMilliseconds, minBytesPerSecond } = limits;
  const end = () => response.destroy();
  // Node looks at what still waits to be written: as long as that becomes less, the connection is not idle.
  response.setTimeout(idleMilliseconds, end);
  const timer = setTimeout(end, idleMilliseconds + (bytes / minBytesPerSecond) * 1000);
  response.once('close', () => clearTimeout(timer));
}
