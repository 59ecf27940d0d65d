import type { ConnectorResponse, Outcome } from '../definition.ts';
import {
  classifyByStatus,
  parseJson,
  reason,
  retry,
  retryAfterSeconds,
  valueAt,
  vendorText,
} from '../shared/classify.ts';

/** Quotas of Google's APIs are counted by the minute; asking again sooner only spends more of them. */
const QUOTA_WAIT_SECONDS = 60;
const QUOTA_REASONS: ReadonlySet<string> = new Set([
  'rateLimitExceeded',
  'userRateLimitExceeded',
  'quotaExceeded',
  'RATE_LIMIT_EXCEEDED',
  'RESOURCE_EXHAUSTED',
]);

export type GoogleError = { reasons: string[]; message: string };

/** The reasons and the message of a Google API error body (https://cloud.google.com/apis/design/errors), empty if none. */
export function googleError(body: string, secrets: readonly string[]): GoogleError {
  const error = valueAt(parseJson(body), 'error');
  const entries = [valueAt(error, 'errors'), valueAt(error, 'details')].flatMap((list) =>
    Array.isArray(list) ? list.slice(0, 20) : [],
  );
  const reasons = [valueAt(error, 'status'), ...entries.map((entry) => valueAt(entry, 'reason'))];
  return {
    reasons: reasons.filter((entry) => typeof entry === 'string'),
    message: vendorText(valueAt(error, 'message'), secrets),
  };
}

/** What an answer other than 200 of a Google API means: expired token, missing right, quota, or the status's own class. */
export function classifyGoogleError(response: ConnectorResponse, accessToken: string, now: Date): Outcome {
  const { reasons, message } = googleError(response.body, [accessToken]);
  const detail = message ? { detail: message } : {};
  if (response.statusCode === 401) {
    return {
      kind: 'pause',
      reason: 'Google refused the access token. Tokens last about an hour: save a new one in the settings.',
    };
  }
  if (response.statusCode === 429 || reasons.some((entry) => QUOTA_REASONS.has(entry))) {
    const wait = Math.max(retryAfterSeconds(response, now) ?? 0, QUOTA_WAIT_SECONDS);
    return retry('The quota of the Google API is used up for now.', wait);
  }
  if (response.statusCode === 403) {
    return {
      kind: 'pause',
      reason: reason(`Google denied access. Check the account's rights and billing${message ? `: ${message}` : '.'}`),
    };
  }
  return classifyByStatus(response, { expected: [], ...detail, now });
}
