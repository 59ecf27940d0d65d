import type { ConnectorDefinition } from '../../connectors/definition.ts';
import { isUnsent } from '../../egress/egress-error.ts';
import type { RetrySchedule } from '../../generated/prisma/enums.ts';
import { MAX_RETRY_AFTER_SECONDS } from '../../retry-after.ts';
import type { AttemptRecord } from '../model/claimed-delivery.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** When a failed delivery is retried, in seconds after each failure. */
export const RETRY_SCHEDULES: Readonly<Record<RetrySchedule, readonly number[]>> = {
  /** About 3 days and 3½ hours in total. */
  STANDARD: [5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, DAY],
  /** About an hour. */
  SHORT: [5, MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE],
  /** The standard schedule and four more days: about a week. */
  LONG: [5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, DAY, DAY, DAY, DAY, DAY],
  NONE: [],
};

export const RETRY_SCHEDULE_SECONDS = RETRY_SCHEDULES.STANDARD;

/**
 * When a destination's failed deliveries are retried: on the webhook's schedule, on the connector type's own, or on the
 * standard one. A delivery that is already waiting for its next attempt switches to a new schedule after its next
 * failure, at the same step.
 *
 * @param replacement replaces the standard schedule and those of connector types, for tests.
 */
export function retryScheduleOf(
  destination: {
    webhook?: { retrySchedule: RetrySchedule } | null | undefined;
    definition?: Pick<ConnectorDefinition, 'retryDelaysSeconds'> | null | undefined;
  },
  replacement?: readonly number[],
): readonly number[] {
  const { webhook, definition } = destination;
  if (webhook && webhook.retrySchedule !== 'STANDARD') return RETRY_SCHEDULES[webhook.retrySchedule];
  return replacement ?? definition?.retryDelaysSeconds ?? RETRY_SCHEDULE_SECONDS;
}

const JITTER = 0.2;

/**
 * Seconds until the next attempt, or undefined at the end of the schedule. Jitter of ±20% spreads out retries of
 * deliveries that failed together. A wait that the destination asked for is never shortened, but is limited to a day.
 *
 * @param step how many of the schedule's waits have been used.
 * @param random from 0 to 1.
 */
export function retryDelaySeconds(
  schedule: readonly number[],
  step: number,
  afterSeconds = 0,
  random: number = Math.random(),
): number | undefined {
  const scheduled = schedule[step];
  if (scheduled === undefined) return undefined;
  return Math.max(scheduled * (1 - JITTER + 2 * JITTER * random), Math.min(afterSeconds, MAX_RETRY_AFTER_SECONDS));
}

const LIMITED_SECONDS = 30;
const MAX_LIMITED_FLOOR_SECONDS = 5 * MINUTE;

/**
 * Seconds until the next attempt after a destination rate limited a request: the wait that it asked for, up to a day,
 * or else half a minute. Each attempt doubles the minimum wait, from one second to five minutes, because a destination
 * may ask for a wait of zero. Jitter of up to 20% keeps deliveries that were limited together from being retried
 * together.
 *
 * @param attemptCount attempts made before this one.
 * @param random from 0 to 1.
 */
export function limitedDelaySeconds(
  attemptCount: number,
  afterSeconds: number = LIMITED_SECONDS,
  random: number = Math.random(),
): number {
  const shortest = Math.min(2 ** attemptCount, MAX_LIMITED_FLOOR_SECONDS);
  return Math.max(Math.min(afterSeconds, MAX_RETRY_AFTER_SECONDS), shortest) * (1 + JITTER * random);
}

export type QuickRetryPolicy = {
  maxRetries: number;
  /** A failure that took longer than this isn't retried immediately. */
  maxDurationMilliseconds: number;
  maxRetryAfterSeconds: number;
  minDelayMilliseconds: number;
};

export const QUICK_RETRIES: QuickRetryPolicy = {
  maxRetries: 2,
  maxDurationMilliseconds: 1_000,
  maxRetryAfterSeconds: 2,
  minDelayMilliseconds: 100,
};

/** Leaves every retry to the schedule. */
export const NO_QUICK_RETRIES: QuickRetryPolicy = { ...QUICK_RETRIES, maxRetries: 0 };

const QUICK_ERROR_CLASSES: ReadonlySet<string> = new Set(['connection_refused', 'connection_reset']);

/**
 * Whether a failure is likely to go away quickly and is retried within the same claim: a refused or reset
 * connection, a quick 5xx, or a destination that asked for a short wait.
 *
 * @param isRepeatable whether it is safe to resend a request that may have arrived.
 */
export function isQuickFailure(
  attempt: Pick<AttemptRecord, 'durationMs' | 'statusCode' | 'errorClass'>,
  afterSeconds: number | undefined,
  isRepeatable: boolean,
  policy: QuickRetryPolicy = QUICK_RETRIES,
): boolean {
  if (afterSeconds !== undefined) return afterSeconds <= policy.maxRetryAfterSeconds;
  if (attempt.durationMs >= policy.maxDurationMilliseconds) return false;
  if (attempt.statusCode !== null) return attempt.statusCode >= 500;
  const { errorClass } = attempt;
  return errorClass !== null && QUICK_ERROR_CLASSES.has(errorClass) && (isRepeatable || isUnsent(errorClass));
}
