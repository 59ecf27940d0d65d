import type { Outcome } from '../definition.ts';
import type { ConnectorResponse } from '../exchange.ts';
import {
  classifyByStatus,
  parseJson,
  reason,
  retry,
  retryAfterSeconds,
  valueAt,
  vendorText,
} from '../shared/classify.ts';

/** Google's API quotas are per minute, and retrying sooner uses up more of the quota. */
const QUOTA_WAIT_SECONDS = 60;
const QUOTA_REASONS: ReadonlySet<string> = new Set([
  'rateLimitExceeded',
  'userRateLimitExceeded',
  'quotaExceeded',
  'RATE_LIMIT_EXCEEDED',
  'RESOURCE_EXHAUSTED',
]);

export type GoogleError = { reasons: string[]; message: string };

/**
 * The reasons and message of a Google API error (https://cloud.google.com/apis/design/errors). Empty for other responses.
 */
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

/**
 * What a Google API response with a status other than 200 means: an expired token, a missing permission, an exhausted
 * quota, or the usual meaning of the status.
 *
 * @param missing what the seller should do after a 404.
 */
export function classifyGoogleError(
  response: ConnectorResponse,
  accessToken: string,
  now: Date,
  missing: string,
): Outcome {
  const { reasons, message } = googleError(response.body, [accessToken]);
  const detail = message ? { detail: message } : {};
  if (response.statusCode === 401) {
    return {
      kind: 'pause',
      reason: 'Google rejected the access token. Tokens expire after about an hour: save a new one.',
    };
  }
  if (response.statusCode === 429 || reasons.some((entry) => QUOTA_REASONS.has(entry))) {
    const wait = Math.max(retryAfterSeconds(response, now) ?? 0, QUOTA_WAIT_SECONDS);
    return retry('The Google API quota is used up.', wait);
  }
  if (response.statusCode === 403) {
    return {
      kind: 'pause',
      reason: reason(
        `Google denied access. Check the account's permissions and billing${message ? `: ${message}` : '.'}`,
      ),
    };
  }
  return classifyByStatus('Google', response, { expected: [], ...detail, missing, now });
}
