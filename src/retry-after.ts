/** Longer times are capped at a day. */
export const MAX_RETRY_AFTER_SECONDS = 24 * 60 * 60;

// The three date formats of RFC 9110 §5.6.7 start with the weekday. Date.parse alone would read `-5` as a date.
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /;

/**
 * Parses `Retry-After` (RFC 9110 §10.2.3), a number or a date, as whole seconds. Undefined if it is missing or invalid.
 *
 * @param now milliseconds since 1970. Dates are relative to this, or to the response's `Date` header if it has one.
 */
export function parseRetryAfter(
  headers: Readonly<{ 'retry-after'?: string | undefined; date?: string | undefined }>,
  now = Number.NaN,
): number | undefined {
  const value = headers['retry-after']?.trim();
  if (!value) return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return Math.min(Math.ceil(Number(value)), MAX_RETRY_AFTER_SECONDS);
  if (!HTTP_DATE.test(value)) return undefined;
  const sent = Date.parse(headers.date ?? '');
  const seconds = Math.ceil((Date.parse(value) - (Number.isNaN(sent) ? now : sent)) / 1000);
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), MAX_RETRY_AFTER_SECONDS);
}
