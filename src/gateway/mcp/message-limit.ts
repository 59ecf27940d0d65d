import { createAddressLimit } from '../../limits/address-limit.ts';
import { createMemoryRateLimiter } from '../../limits/rate-limit.ts';

/**
 * How many kilobytes of messages are read per minute for a client address. Anyone can send messages without paying for
 * them, and parsing one of 1 MB takes up to 100 ms of CPU time. Each process counts for itself, because it protects its own
 * main thread.
 */
const ADDRESS_KILOBYTES_PER_MINUTE = 65_536;
/** The messages to all projects count together. */
const BUCKET = 'messages';

/** Limits the size of the messages that client addresses send to MCP endpoints. Methods throw AppError `RATE_LIMITED`. */
export type MessageLimit = {
  /** Counts nothing. Throws if the address was rejected and still has to wait. */
  check(address: string): void;
  /** Counts a message. Throws if the address has sent too much. */
  take(address: string, bytes: number): Promise<void>;
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
  return {
    check: (address) => limit.check(address, BUCKET),
    take: (address, bytes) => limit.take(address, BUCKET, Math.ceil(bytes / 1024)),
  };
}
