import ipaddr from 'ipaddr.js';
import { AppError } from '../errors.ts';
import type { RateLimiter } from './rate-limit.ts';

/** One look at a credential, counted as a failure until it is given back. Only the first call of either counts. */
export type Attempt = {
  /** The credential was good, or nobody could tell. */
  giveBack(): void;
  fail(): void;
};

/** Slows down whoever tries out credentials. */
export type FailedCredentials = {
  /**
   * Call before a credential is verified. Waits while the attempts that are left are all in use: one of them may come back.
   *
   * @param lane gives somebody at that address attempts of their own.
   * @throws AppError `RATE_LIMITED` after too many failures of that address.
   */
  reserve(address: string, lane?: string): Promise<Attempt>;
  /** Counts a failure that is found later. */
  record(address: string): void;
};

export type FailedCredentialsOptions = {
  rateLimiter: RateLimiter;
  /** Keeps these failures apart from what else the rate limiter counts. */
  scope: string;
  /** What they are, for the caller who is told to wait. */
  what: string;
  failuresPerMinute: number;
  /** Milliseconds of a clock that never steps back. */
  now?: () => number;
};

/** Of one address in one process. */
type Lane = {
  running: number;
  /** Attempts that came back and are still counted. */
  spare: number;
  waiting: { admit(): void; refuse(retryAfterSeconds: number): void }[];
  isTaking: boolean;
};

const IPV6_PREFIX_LENGTH = 64;
/** Beyond it, those that have waited longest are forgotten, and ask the rate limiter again. */
const MAX_REFUSED = 50_000;
/** What one process takes of the attempts of an address at once, so that others get some as well. */
const SHARE_AT_ONCE = 1 / 3;

/**
 * Counts refused credentials by IP address. An attempt is counted before the credential is looked at and given back when
 * it was good, so that however many come at once, and to however many processes, no more than the limit are looked at.
 */
export function createFailedCredentials(options: FailedCredentialsOptions): FailedCredentials {
  const { rateLimiter, scope, what, failuresPerMinute, now = () => performance.now() } = options;
  const maxAtOnce = Math.max(1, Math.floor(failuresPerMinute * SHARE_AT_ONCE));
  const lanes = new Map<string, Lane>();
  /** When the next attempt is worth asking for: a flood is refused without asking. */
  const refusedUntil = new Map<string, number>();

  function tooMany(retryAfterSeconds: number): AppError {
    return new AppError('RATE_LIMITED', {
      detail: `Too many ${what} from this address were refused. Wait for the time given in \`Retry-After\`.`,
      retryAfterSeconds,
    });
  }

  /** Lets those that wait go on, for as long as there are attempts. Takes one at a time. */
  async function admitWaiting(key: string, lane: Lane): Promise<void> {
    if (lane.isTaking) return;
    lane.isTaking = true;
    try {
      while (lane.waiting.length > 0 && lane.running < maxAtOnce) {
        if (lane.spare === 0) {
          const { allowed, retryAfterSeconds } = await rateLimiter.take(key, failuresPerMinute);
          if (!allowed && lane.spare === 0) {
            // Those at work may give theirs back.
            if (lane.running > 0) return;
            refuseWaiting(key, lane, retryAfterSeconds);
            return;
          }
          if (allowed) lane.spare += 1;
        }
        lane.spare -= 1;
        lane.running += 1;
        lane.waiting.shift()!.admit();
      }
    } finally {
      lane.isTaking = false;
      settleLane(key, lane);
    }
  }

  function refuseWaiting(key: string, lane: Lane, retryAfterSeconds: number): void {
    refusedUntil.set(key, now() + retryAfterSeconds * 1000);
    if (refusedUntil.size > MAX_REFUSED) refusedUntil.delete(refusedUntil.keys().next().value!);
    for (const { refuse } of lane.waiting.splice(0)) refuse(retryAfterSeconds);
  }

  /** What nobody waits for goes back, and a lane that nobody uses is forgotten. */
  function settleLane(key: string, lane: Lane): void {
    if (lane.waiting.length > 0) return;
    for (; lane.spare > 0; lane.spare--) void rateLimiter.giveBack(key, failuresPerMinute);
    if (lane.running === 0) lanes.delete(key);
  }

  function attemptOf(key: string, lane: Lane): Attempt {
    let isOver = false;
    const end = (comesBack: boolean) => {
      if (isOver) return;
      isOver = true;
      lane.running -= 1;
      if (comesBack) lane.spare += 1;
      void admitWaiting(key, lane);
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
      const lane = lanes.get(key) ?? { running: 0, spare: 0, waiting: [], isTaking: false };
      lanes.set(key, lane);
      const { promise, resolve, reject } = Promise.withResolvers<Attempt>();
      lane.waiting.push({
        admit: () => resolve(attemptOf(key, lane)),
        refuse: (retryAfterSeconds) => reject(tooMany(retryAfterSeconds)),
      });
      admitWaiting(key, lane).catch((error) => {
        for (const { refuse } of lane.waiting.splice(0)) refuse(1);
        reject(error);
      });
      return promise;
    },
    record(address) {
      void rateLimiter.take(keyOf(address), failuresPerMinute);
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
