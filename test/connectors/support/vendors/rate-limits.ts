import type { Answer } from '../../../support/receiver.ts';
import type { Interference } from './server.ts';
import { json } from './vendor.ts';

/** A vendor that enforces a rate limit and counts the requests that it accepts and rejects. */
export type LimitedVendor = { interference: Interference; accepted: number[]; rejected: number[] };

/** Decides whether to accept a request at a given time, in milliseconds. If not, returns the seconds to wait. */
type Limit = (now: number) => { afterSeconds: number } | undefined;

function limitedBy(limit: Limit, reject: (afterSeconds: number) => Answer): LimitedVendor {
  const accepted: number[] = [];
  const rejected: number[] = [];
  const interference: Interference = (_call, _response, usual) => {
    const now = performance.now();
    const refusal = limit(now);
    (refusal ? rejected : accepted).push(now);
    return refusal ? reject(refusal.afterSeconds) : usual();
  };
  return { interference, accepted, rejected };
}

/**
 * Slack accepts one message per second per webhook, plus short bursts
 * (https://docs.slack.dev/apis/web-api/rate-limits#incoming-webhooks).
 */
export function limitedSlack({ perSecond = 1, burst = 3 } = {}): LimitedVendor {
  let tokens = burst;
  let at = performance.now();
  const limit: Limit = (now) => {
    tokens = Math.min(burst, tokens + ((now - at) / 1000) * perSecond);
    at = now;
    if (tokens < 1) return { afterSeconds: Math.ceil((1 - tokens) / perSecond) };
    tokens--;
    return undefined;
  };
  return limitedBy(limit, (seconds) => ({
    ...{ statusCode: 429, body: 'rate_limited' },
    headers: { 'content-type': 'text/plain', 'retry-after': String(seconds) },
  }));
}

/**
 * Discord accepts five requests per webhook in a two-second window that starts with the first request
 * (https://discord.com/developers/docs/topics/rate-limits).
 */
export function limitedDiscord({ count = 5, perSeconds = 2 } = {}): LimitedVendor {
  let startedAt = Number.NEGATIVE_INFINITY;
  let used = 0;
  const limit: Limit = (now) => {
    if (now - startedAt >= perSeconds * 1000) {
      startedAt = now;
      used = 0;
    }
    if (used >= count) return { afterSeconds: perSeconds - (now - startedAt) / 1000 };
    used++;
    return undefined;
  };
  return limitedBy(limit, (seconds) =>
    json(
      429,
      { message: 'You are being rate limited.', retry_after: seconds, global: false },
      {
        ...{ 'retry-after': String(Math.ceil(seconds)), 'x-ratelimit-scope': 'user', 'x-ratelimit-bucket': 'abcd1234' },
        ...{ 'x-ratelimit-limit': String(count), 'x-ratelimit-remaining': '0' },
        'x-ratelimit-reset-after': String(seconds),
      },
    ),
  );
}
