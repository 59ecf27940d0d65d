import { describe, expect, test } from 'vitest';
import { type DeliveryFacts, explainInWords } from '../../../../src/features/deliveries/explanation/words.ts';
import type { Delivery } from '../../../../src/generated/prisma/client.ts';

const now = new Date('2026-11-22T12:00:00Z');
const destination = {
  ...{ id: 'wh_1', title: 'webhook', isActive: true, disabledReason: null, disabledAt: null },
  ...{ pausedReason: null, pausedAt: null, nextProbeAt: null, failingSince: null, isSlowedDown: false },
};

/** The facts about a delivery that is due. */
function dueDelivery(values: Partial<Delivery>): DeliveryFacts {
  const delivery = { status: 'PENDING', trigger: 'SCHEDULED', reason: null, attemptCount: 0, isParked: false };
  return {
    delivery: { ...delivery, nextAttemptAt: new Date(now.getTime() - 60_000), ...values } as Delivery,
    ...{ destination, lastAttempt: null, now, retryScheduleSeconds: [5] },
  };
}

describe('a delivery to a paused webhook', () => {
  test('is held until its authentication is saved, if the service paused it', () => {
    const facts = dueDelivery({ nextAttemptAt: null, reason: 'paused' });
    const pausedReason = 'The token URL no longer issues access tokens (invalid_client).';
    const words = explainInWords({ ...facts, destination: { ...destination, pausedAt: now, pausedReason } });
    expect(words).toEqual({
      summary: `It is held, because its webhook is paused: ${pausedReason}`,
      next: "It will be sent as soon as you save the webhook's `authentication`, or set `isPaused` to false.",
      advice: "Fix the cause, then save the webhook's `authentication`.",
    });
  });
});

describe('a failed delivery', () => {
  const failed = dueDelivery({ status: 'FAILED', reason: 'exhausted', nextAttemptAt: null });

  test('ran out of retries', () => {
    expect(explainInWords(failed).summary).toBe('Every scheduled retry failed, so the delivery was marked as failed.');
  });

  test('says so if there were no retries', () => {
    const words = explainInWords({ ...failed, retryScheduleSeconds: [] });
    expect(words.summary).toBe('It failed, and its webhook has no retries, so the delivery was marked as failed.');
    expect(words.advice).toContain('`retrySchedule`');
  });
});

describe('a due delivery', () => {
  test('waits for a worker', () => {
    expect(explainInWords(dueDelivery({})).next).toBe('It is due and will be sent as soon as a worker is free.');
  });

  test.each([
    ['its first attempt', { attemptCount: 0 }, 'It is due and will be sent as soon as there is room'],
    [
      'a resend',
      { attemptCount: 3, trigger: 'MANUAL' as const },
      'It is due and will be sent as soon as there is room',
    ],
  ])('that has to wait for room says so: %s', (_name, values, next) => {
    expect(explainInWords(dueDelivery({ ...values, isParked: true })).next).toContain(next);
  });
});
