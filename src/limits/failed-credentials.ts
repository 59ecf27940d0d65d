import ipaddr from 'ipaddr.js';
import { AppError } from '../errors.ts';
import { createLru } from '../lru.ts';
import type { RateLimiter } from './rate-limit.ts';

/**
 * One attempt to verify a credential. It counts as a failure until it is given back. Only the first method call has an
 * effect.
 */
export type CredentialAttempt = {
  /** The credential was valid, or couldn't be checked. */
  giveBack(): void;
  fail(): void;
};

/** Slows down callers that try to guess credentials. */
export type FailedCredentials = {
  /**
   * Call this before verifying a credential. Waits while all remaining attempts are in use, because one may be given
   * back.
   *
   * @param bucket gives a caller at this address its own attempts.
   * @throws AppError `RATE_LIMITED` after too many failures from this address.
   */
  reserve(address: string, bucket?: string): Promise<CredentialAttempt>;
  /** Counts a failure that was discovered after its attempt was given back, even if that is above the limit. */
  record(address: string, bucket?: string): void;
};

export type FailedCredentialsOptions = {
  rateLimiter: RateLimiter;
  /** Separates these failures from other counts in the rate limiter. */
  scope: string;
  /** What was rejected, for the error message. */
  what: string;
  failuresPerMinute: number;
  /** Milliseconds on a monotonic clock. */
  now?: () => number;
};

/** An address's state in this process. */
type Bucket = {
  running: number;
  /** Attempts that were given back, but are still counted. */
  spare: number;
  /**
   * Failures that were discovered later. The next attempts to be given back count for them. Never more than `running`.
   */
  debt: number;
  waiting: { admit(): void; refuse(retryAfterSeconds: number): void }[];
  isTaking: boolean;
};

/** Above this number, the oldest rejections are forgotten, and the rate limiter is called for those addresses again. */
const MAX_REFUSED = 50_000;
/** The share of an address's attempts that a process takes in one step. The rest are left for other processes. */
const SHARE_AT_ONCE = 1 / 3;

/**
 * Counts rejected credentials by IP address. Each attempt is counted before its credential is checked, and is given
 * back if the credential was valid. As a result, only as many credentials as the limit allows are checked, no matter
 * how many arrive at the same time or how many processes receive them.
 */
export function createFailedCredentials(options: FailedCredentialsOptions): FailedCredentials {
  const { rateLimiter, scope, what, failuresPerMinute, now = () => performance.now() } = options;
  const maxAtOnce = Math.max(1, Math.floor(failuresPerMinute * SHARE_AT_ONCE));
  const buckets = new Map<string, Bucket>();
  /** When the next attempt may be allowed. Until then, a flood is rejected without calling the rate limiter. */
  const refusedUntil = createLru<number>(MAX_REFUSED);

  function tooMany(retryAfterSeconds: number): AppError {
    return new AppError('RATE_LIMITED', {
      detail: `Too many invalid ${what} from this address. Wait for the number of seconds in \`Retry-After\`.`,
      retryAfterSeconds,
    });
  }

  /** Resumes waiting callers, one at a time, while attempts are available. */
  async function admitWaiting(key: string, bucket: Bucket): Promise<void> {
    if (bucket.isTaking) return;
    bucket.isTaking = true;
    try {
      while (bucket.waiting.length > 0 && bucket.running < maxAtOnce) {
        if (bucket.spare === 0) {
          const { allowed, retryAfterSeconds } = await rateLimiter.take(key, failuresPerMinute);
          if (allowed) bucket.spare += 1;
          else if (bucket.spare === 0) {
            // Checks in progress may give back their attempts.
            if (bucket.running > 0) return;
            refuseWaiting(key, retryAfterSeconds);
          }
          // A failure may have been recorded in the meantime, so there may be no waiting callers anymore.
          continue;
        }
        bucket.spare -= 1;
        bucket.running += 1;
        bucket.waiting.shift()!.admit();
      }
    } finally {
      bucket.isTaking = false;
      settleBucket(key, bucket);
    }
  }

  function refuseWaiting(key: string, retryAfterSeconds: number): void {
    refusedUntil.set(key, now() + retryAfterSeconds * 1000);
    for (const { refuse } of buckets.get(key)?.waiting.splice(0) ?? []) refuse(retryAfterSeconds);
  }

  async function recordFailure(key: string): Promise<void> {
    const { allowed, retryAfterSeconds } = await rateLimiter.record(key, failuresPerMinute);
    if (!allowed) refuseWaiting(key, retryAfterSeconds);
  }

  /** Returns attempts that no caller is waiting for, and forgets unused buckets. */
  function settleBucket(key: string, bucket: Bucket): void {
    if (bucket.waiting.length > 0) return;
    for (; bucket.spare > 0; bucket.spare--) void rateLimiter.giveBack(key, failuresPerMinute);
    if (bucket.running === 0) buckets.delete(key);
  }

  function attemptOf(key: string, bucket: Bucket): CredentialAttempt {
    let isOver = false;
    const end = (comesBack: boolean) => {
      if (isOver) return;
      isOver = true;
      bucket.running -= 1;
      if (comesBack && bucket.debt > 0) bucket.debt -= 1;
      else if (comesBack) bucket.spare += 1;
      else if (bucket.debt > bucket.running) {
        bucket.debt -= 1;
        void recordFailure(key);
      }
      void admitWaiting(key, bucket);
    };
    return { giveBack: () => end(true), fail: () => end(false) };
  }

  function keyOf(address: string, name?: string): string {
    return [scope, sourceOf(address), ...(name === undefined ? [] : [name])].join(' ');
  }

  return {
    reserve(address, name) {
      const key = keyOf(address, name);
      const waitMilliseconds = (refusedUntil.get(key) ?? 0) - now();
      if (waitMilliseconds > 0) return Promise.reject(tooMany(Math.ceil(waitMilliseconds / 1000)));
      refusedUntil.delete(key);
      const bucket = buckets.get(key) ?? { running: 0, spare: 0, debt: 0, waiting: [], isTaking: false };
      buckets.set(key, bucket);
      const { promise, resolve, reject } = Promise.withResolvers<CredentialAttempt>();
      bucket.waiting.push({
        admit: () => resolve(attemptOf(key, bucket)),
        refuse: (retryAfterSeconds) => reject(tooMany(retryAfterSeconds)),
      });
      admitWaiting(key, bucket).catch((error) => {
        for (const { refuse } of bucket.waiting.splice(0)) refuse(1);
        reject(error);
      });
      return promise;
    },
    record(address, name) {
      const key = keyOf(address, name);
      const bucket = buckets.get(key);
      if (bucket && bucket.spare > 0) bucket.spare -= 1;
      else if (bucket && bucket.debt < bucket.running) bucket.debt += 1;
      else void recordFailure(key);
    },
  };
}

/** An address's owner: the address itself or, for IPv6, its /64, which usually belongs to one customer. */
export function sourceOf(address: string): string {
  return networkOf(address, { ipv4: 32, ipv6: 64 });
}

/** The first address of the network that an address belongs to. Connections that are closed already may have no address. */
export function networkOf(address: string, prefixLengths: { ipv4: number; ipv6: number }): string {
  if (!ipaddr.isValid(address)) return 'closed';
  const parsed = ipaddr.process(address);
  const kind = parsed.kind();
  const cidr = `${parsed.toString()}/${prefixLengths[kind]}`;
  return (kind === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6).networkAddressFromCIDR(cidr).toString();
}
