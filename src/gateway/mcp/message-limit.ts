import { createAddressLimit } from '../../limits/address-limit.ts';
import { sourceOf } from '../../limits/failed-credentials.ts';
import { createMemoryRateLimiter } from '../../limits/rate-limit.ts';
import { createTurns } from '../../limits/turns.ts';

/**
 * How many kilobytes of messages are read per minute for a client address. Anyone can send messages without paying for
 * them, and reading one of 1 MB takes tens of milliseconds of CPU time. Each process counts for itself, because it protects its own
 * main thread.
 */
const ADDRESS_KILOBYTES_PER_MINUTE = 65_536;
/** The messages to all projects count together. */
const BUCKET = 'messages';
/** Larger messages take turns. Most messages are smaller. */
const MAX_BYTES_WITHOUT_TURN = 64 * 1024;

/** Limits the messages that client addresses send to MCP endpoints. */
export type MessageLimit = {
  /** Counts nothing. Throws AppError `RATE_LIMITED` if the address was rejected and still has to wait. */
  check(address: string): void;
  /** Counts a message. Throws AppError `RATE_LIMITED` if the address has sent too much. */
  take(address: string, bytes: number): Promise<void>;
  /**
   * Reads a message. Large ones are read one at a time, and addresses take turns, so that the process does other work
   * between two of them.
   */
  inTurn<T>(address: string, bytes: number, read: () => T): Promise<T>;
};

/** @param now a monotonic clock, in milliseconds */
export function createMessageLimit(now: () => number = () => performance.now()): MessageLimit {
  const limit = createAddressLimit({
    rateLimiter: createMemoryRateLimiter({ now }),
    scope: 'mcp',
    what: 'large messages',
    requestsPerMinute: ADDRESS_KILOBYTES_PER_MINUTE,
    now,
  });
  const inTurn = createTurns({ stepsAtOnce: 1 });
  return {
    check: (address) => limit.check(address, BUCKET),
    take: (address, bytes) => limit.take(address, BUCKET, Math.ceil(bytes / 1024)),
    inTurn: async (address, bytes, read) =>
      bytes <= MAX_BYTES_WITHOUT_TURN ? read() : inTurn(sourceOf(address), read),
  };
}
