import { MAX_RETRY_AFTER_SECONDS, parseRetryAfter } from '../../retry-after.ts';
import { scrub } from '../../secrets/redact.ts';
import type { Outcome, ProbeResult } from '../definition.ts';
import type { ConnectorResponse } from '../exchange.ts';
import { oneLine, shorten } from './plain-text.ts';

const MAX_REASON_LENGTH = 200;
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([408, 429]);

export type StatusOptions = {
  /** The statuses that count as delivered. Defaults to every 2xx. */
  expected?: readonly number[];
  /** The vendor's error message, passed through `vendorText`. It is appended to the reason. */
  detail?: string;
  /**
   * What is missing after a 404 or 410 response, and how to fix it. If this is set, the connector is paused instead of
   * disabled.
   */
  missing?: string;
  /** The current time, used to read a date in `Retry-After` if the response has no `Date` header. */
  now?: Date;
};

/**
 * The usual meaning of a status. After an expected status, the event is delivered. After 408, 429, and 5xx, it is
 * retried (not before `Retry-After`). 401 and 403 pause the connector, because the credentials were rejected or lack
 * a permission. 404 and 410 mean that the resource that events were sent to no longer exists. They disable the
 * connector, or pause it if the seller can recreate the resource (`missing`). After any other status, including
 * redirects (which are never followed), the event is dropped.
 *
 * @param service the vendor's name, for the reason.
 */
export function classifyByStatus(service: string, response: ConnectorResponse, options: StatusOptions = {}): Outcome {
  const { statusCode } = response;
  const { expected, detail, missing } = options;
  if (expected ? expected.includes(statusCode) : statusCode >= 200 && statusCode < 300) return { kind: 'delivered' };
  const because = (sentence: string) => reason(`${sentence} (HTTP ${statusCode})${detail ? `: ${detail}` : '.'}`);
  if (RETRYABLE_STATUSES.has(statusCode) || statusCode >= 500) {
    const sentence =
      statusCode === 429 ? `${service} is rate limiting requests` : `${service} couldn't accept the event right now`;
    return retry(because(sentence), retryAfterSeconds(response, options.now));
  }
  if (statusCode === 401)
    return { kind: 'pause', reason: because(`${service} rejected the credentials; replace them`) };
  if (statusCode === 403) {
    return { kind: 'pause', reason: because(`${service} denied access; check the permissions of the credentials`) };
  }
  if (statusCode === 404 || statusCode === 410) {
    if (missing !== undefined) return { kind: 'pause', reason: reason(missing) };
    return {
      kind: 'disable',
      reason: because(
        `${service} can't find the resource that this connector sends events to; check the connector's settings`,
      ),
    };
  }
  return { kind: 'drop', reason: because(`${service} rejected the event`) };
}

/** A `retry` outcome. `afterSeconds` is rounded up to whole seconds, capped at a day, and omitted if unknown. */
export function retry(text: string, afterSeconds?: number): Outcome {
  if (afterSeconds === undefined || !Number.isFinite(afterSeconds)) return { kind: 'retry', reason: reason(text) };
  const whole = Math.min(Math.max(Math.ceil(afterSeconds), 0), MAX_RETRY_AFTER_SECONDS);
  return { kind: 'retry', reason: reason(text), afterSeconds: whole };
}

/** A response's `Retry-After` in seconds, or undefined if it is missing or invalid. */
export function retryAfterSeconds(response: ConnectorResponse, now?: Date): number | undefined {
  return parseRetryAfter(response.headers, now?.getTime());
}

/** The result of a failed probe, with the same reason as a failed delivery. */
export function failedProbe(service: string, outcome: Outcome): ProbeResult {
  const message = 'reason' in outcome ? outcome.reason : `Unexpected response from ${service}.`;
  return { ok: false, message, ...(outcome.kind === 'blocked' && { blockedSeconds: outcome.afterSeconds }) };
}

/** The parsed body, or undefined if it isn't JSON. */
export function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Whether a body starts like JSON. Long responses are cut off, so they may not parse. */
export function looksLikeJson(body: string): boolean {
  return /^\s*[[{]/.test(body);
}

/**
 * The value at a path of keys and indexes in parsed JSON, such as `valueAt(json, 'errors', 0, 'message')`, or
 * undefined.
 */
export function valueAt(json: unknown, ...path: readonly (string | number)[]): unknown {
  let value = json;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string | number, unknown>)[key];
  }
  return value;
}

/**
 * A vendor's message, made safe to use in a reason: one line, capped, without control or invisible characters, and with
 * the `secrets` masked, because some vendors quote the credentials back. Anything other than a string or a number
 * becomes ''.
 */
export function vendorText(text: unknown, secrets: readonly string[] = [], maxLength = 120): string {
  if (typeof text !== 'string' && typeof text !== 'number') return '';
  return shorten(oneLine(scrub(String(text), secrets)), maxLength);
}

/** A reason as shown to the seller: one line of at most 200 characters. */
export function reason(text: string): string {
  return shorten(oneLine(text), MAX_REASON_LENGTH);
}
