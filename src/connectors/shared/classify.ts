import { MAX_RETRY_AFTER_SECONDS, parseRetryAfter } from '../../egress/retry-after.ts';
import { scrub } from '../../secrets/redact.ts';
import type { ConnectorResponse, Outcome, ProbeOutcome } from '../definition.ts';
import { oneLine, shorten } from './plain-text.ts';

const MAX_REASON_LENGTH = 200;
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([408, 429]);

export type StatusOptions = {
  /** The statuses that mean delivered. Default: every 2xx. */
  expected?: readonly number[];
  /** What the vendor says is wrong, already passed through `vendorText`: appended to the reason. */
  detail?: string;
  /** Against which a date in `Retry-After` is counted when the answer has no `Date` of its own. */
  now?: Date;
};

/**
 * What the status alone means: expected 2xx delivered; 408, 429 and 5xx retry (not before `Retry-After`); 401 and 403
 * pause, because the credential was refused; 404 and 410 disable, because the target is gone; everything else can
 * never be accepted and is dropped. A redirect is dropped too: none is followed.
 */
export function classifyByStatus(response: ConnectorResponse, options: StatusOptions = {}): Outcome {
  const { statusCode } = response;
  const { expected, detail } = options;
  if (expected ? expected.includes(statusCode) : statusCode >= 200 && statusCode < 300) return { kind: 'delivered' };
  const because = (sentence: string) => reason(`${sentence} (HTTP ${statusCode})${detail ? `: ${detail}` : '.'}`);
  if (RETRYABLE_STATUSES.has(statusCode) || statusCode >= 500) {
    const sentence =
      statusCode === 429 ? 'The service asked to slow down' : 'The service could not take the event just now';
    return retry(because(sentence), retryAfterSeconds(response, options.now));
  }
  if (statusCode === 401 || statusCode === 403) {
    return { kind: 'pause', reason: because('The credential was refused, replace it') };
  }
  if (statusCode === 404 || statusCode === 410) {
    return { kind: 'disable', reason: because('The target no longer exists, check the settings') };
  }
  return { kind: 'drop', reason: because('The service did not accept the event') };
}

/** A `retry` outcome; `afterSeconds` is left out when unknown, rounded up to whole seconds and capped at a day. */
export function retry(text: string, afterSeconds?: number): Outcome {
  if (afterSeconds === undefined || !Number.isFinite(afterSeconds)) return { kind: 'retry', reason: reason(text) };
  const whole = Math.min(Math.max(Math.ceil(afterSeconds), 0), MAX_RETRY_AFTER_SECONDS);
  return { kind: 'retry', reason: reason(text), afterSeconds: whole };
}

/** The `Retry-After` of a response in seconds; undefined when absent or unreadable. */
export function retryAfterSeconds(response: ConnectorResponse, now?: Date): number | undefined {
  return parseRetryAfter(response.headers, now?.getTime());
}

/** A probe that failed, told with the reason a delivery would have failed for. */
export function failedProbe(outcome: Outcome): ProbeOutcome {
  return { ok: false, message: 'reason' in outcome ? outcome.reason : 'The service gave an answer nobody expected.' };
}

/** The parsed body, or undefined when it is not JSON. */
export function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Whether a body begins like JSON. A long answer is cut off while it is read, so that the whole need not parse. */
export function looksLikeJson(body: string): boolean {
  return /^\s*[[{]/.test(body);
}

/** The value at a path of keys and indexes in parsed JSON, or undefined: `valueAt(json, 'errors', 0, 'message')`. */
export function valueAt(json: unknown, ...path: readonly (string | number)[]): unknown {
  let value = json;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string | number, unknown>)[key];
  }
  return value;
}

/**
 * A vendor's own words made fit for a reason: one line, no control or invisible formatting characters, capped, and
 * with the `secrets` masked, since some vendors quote the credential back. Anything but a string or a number is ''.
 */
export function vendorText(text: unknown, secrets: readonly string[] = [], maxLength = 120): string {
  if (typeof text !== 'string' && typeof text !== 'number') return '';
  return shorten(oneLine(scrub(String(text), secrets)), maxLength);
}

/** A reason as the seller sees it: one line of at most 200 characters. */
export function reason(text: string): string {
  return shorten(oneLine(text), MAX_REASON_LENGTH);
}
