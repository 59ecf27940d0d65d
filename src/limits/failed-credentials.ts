import ipaddr from 'ipaddr.js';
import { AppError } from '../errors.ts';
import { createGcraTable } from './gcra.ts';

/** Slows down whoever tries out credentials. */
export type FailedCredentials = {
  /** Call before a credential is verified. @throws AppError `RATE_LIMITED` after too many failures of that address. */
  check(address: string): void;
  /** Call when a credential that was sent turned out bad. A missing one is no attempt. */
  record(address: string): void;
};

const IPV6_PREFIX_LENGTH = 64;

/**
 * Counts refused credentials by IP address, in memory.
 *
 * @param now milliseconds of a clock that never steps back.
 * @param failuresPerMinute how many are let through, 30 unless given.
 * @param what they are, for the caller who is told to wait: credentials unless given.
 * @param maxKeys bounds the memory: beyond it, the addresses seen least recently are forgotten.
 */
export function createFailedCredentials(
  options: { now?: () => number; failuresPerMinute?: number; maxKeys?: number; what?: string } = {},
): FailedCredentials {
  const { now = () => performance.now(), failuresPerMinute = 30, maxKeys = 50_000, what = 'credentials' } = options;
  const table = createGcraTable({ now, maxKeys });

  return {
    check(address) {
      const { allowed, retryAfterSeconds } = table.peek(sourceOf(address), failuresPerMinute, 1);
      if (allowed) return;
      throw new AppError('RATE_LIMITED', {
        detail: `Too many ${what} from this address were refused. Wait for the time given in \`Retry-After\`.`,
        retryAfterSeconds,
      });
    },
    record(address) {
      table.take(sourceOf(address), failuresPerMinute, 1);
    },
  };
}

/** Who an address belongs to: itself, or for IPv6 its /64, all of which one customer of a provider commonly has. */
export function sourceOf(address: string): string {
  if (!ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/${IPV6_PREFIX_LENGTH}`).toString();
}
