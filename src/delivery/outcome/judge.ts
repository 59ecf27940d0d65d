import type { ClaimedDelivery, SendResult, Verdict } from '../model/claimed-delivery.ts';
import type { AttemptErrorClass } from '../model/error-classes.ts';
import type { DeliveryOutcome, HealthEffect } from '../model/outcome.ts';
import { limitedDelaySeconds, RETRY_SCHEDULE_SECONDS, retryDelaySeconds } from '../send/retry-policy.ts';
import { rejectionOf } from './rejections.ts';

type Change = Pick<DeliveryOutcome, 'status' | 'reason'> &
  Partial<Pick<DeliveryOutcome, 'dueInSeconds' | 'isParked' | 'retryStep' | 'health'>>;

/** After this many attempts, a 429 counts as a failure. Otherwise, a destination could cause endless attempts. */
const MAX_LIMITED_ATTEMPTS = 50;

/** Failures that don't count against the destination's health. */
const OUR_FAULTS: ReadonlySet<string> = new Set<AttemptErrorClass>(['internal', 'proxy_error']);

type Rules = { [K in Verdict['kind']]: (verdict: Extract<Verdict, { kind: K }>, context: RuleContext) => Change };

type RuleContext = {
  step: number;
  attemptCount: number;
  schedule: readonly number[];
  random: number;
  isOurFault: boolean;
  /** Whether the destination is rate limiting requests. False if it has done so for too long or too often. */
  isLimited: boolean;
};

const RULES: Rules = {
  delivered: ({ reason = null }) => ({ status: 'SUCCEEDED', reason, health: { kind: 'healthy' } }),
  retry: ({ reason = null, afterSeconds }, { step, attemptCount, schedule, random, isOurFault, isLimited }) => {
    if (isLimited) {
      const dueInSeconds = limitedDelaySeconds(attemptCount, afterSeconds, random);
      // Nothing is sent to the destination for exactly as long as it asked, no matter how often this delivery was
      // delayed.
      const health = { kind: 'limited', afterSeconds: limitedDelaySeconds(0, afterSeconds, random) } as const;
      return { status: 'PENDING', reason: reason ?? 'rate_limited', dueInSeconds, retryStep: step, health };
    }
    const dueInSeconds = retryDelaySeconds(schedule, step, afterSeconds, random);
    const health: HealthEffect | null = isOurFault ? null : { kind: 'failing' };
    if (dueInSeconds === undefined) return { status: 'FAILED', reason: reason ?? 'exhausted', health };
    return { status: 'PENDING', reason, dueInSeconds, retryStep: step + 1, health };
  },
  // The whole vendor waits, so the delivery keeps its retries, no matter how long that takes.
  blocked: ({ reason, afterSeconds }, { step, random }) => {
    const dueInSeconds = limitedDelaySeconds(0, afterSeconds, random);
    return { status: 'PENDING', reason, dueInSeconds, retryStep: step, health: { kind: 'blocked', afterSeconds } };
  },
  drop: ({ reason }) => ({ status: 'FAILED', reason }),
  pause: ({ reason }) => ({ status: 'PENDING', reason: 'paused', health: { kind: 'pause', reason } }),
  disable: ({ reason }) => ({ status: 'FAILED', reason, health: { kind: 'disable', reason } }),
  skip: ({ reason }) => ({ status: 'SKIPPED', reason }),
  wait: ({ afterSeconds, reason = null }) => ({ status: 'PENDING', reason, dueInSeconds: afterSeconds }),
  park: ({ reason }) => ({ status: 'PENDING', reason, isParked: true }),
  hold: ({ reason = 'paused' }) => ({ status: 'PENDING', reason }),
};

/**
 * Turns the result of sending a claimed delivery into the delivery's outcome.
 *
 * @param random from 0 to 1. It is the same for deliveries that were sent together, so they are retried together.
 */
export function judge(
  delivery: ClaimedDelivery,
  result: SendResult,
  schedule: readonly number[] = RETRY_SCHEDULE_SECONDS,
  random: number = Math.random(),
): DeliveryOutcome {
  const { attempts, verdict, remember = {} } = result;
  const isOurFault = OUR_FAULTS.has(attempts.at(-1)?.errorClass ?? '');
  const isLimited =
    attempts.at(-1)?.statusCode === 429 &&
    delivery.attemptCount < MAX_LIMITED_ATTEMPTS &&
    delivery.ageSeconds < schedule.reduce((sum, seconds) => sum + seconds, 0);
  const rule = RULES[verdict.kind] as (verdict: Verdict, context: RuleContext) => Change;
  const { retryStep: step, attemptCount } = delivery;
  const change = rule(verdict, { step, attemptCount, schedule, random, isOurFault, isLimited });
  const rejection = rejectionOf(delivery, verdict, attempts.at(-1)?.statusCode ?? null);
  const unchanged = { dueInSeconds: null, isParked: false, retryStep: delivery.retryStep, health: null };
  return { delivery, attempts, remember, rejection, ...unchanged, ...change };
}

/** Judges deliveries that were sent together, so that any retries also happen together. */
export function judgeTogether(
  deliveries: readonly ClaimedDelivery[],
  results: readonly SendResult[],
  schedule: readonly number[],
): DeliveryOutcome[] {
  const random = Math.random();
  return deliveries.map((delivery, index) => judge(delivery, results[index]!, schedule, random));
}
