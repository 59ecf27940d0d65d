import { describe, expect, test } from 'vitest';
import type { AttemptRecord, ClaimedDelivery } from '../../../src/delivery/model/claimed-delivery.ts';
import { judge } from '../../../src/delivery/outcome/judge.ts';

const DAY_SECONDS = 24 * 3_600;
const delivery = { retryStep: 2, attemptCount: 2, ageSeconds: 3_600, connector: null } as unknown as ClaimedDelivery;

const attempt = (statusCode: number): AttemptRecord => ({
  startedAt: 1_700_000_000_000,
  durationMs: 7,
  statusCode,
  errorClass: 'http_status',
  errorMessage: null,
  responseBody: null,
});

const judged = (statusCode: number, afterSeconds?: number, state: Partial<ClaimedDelivery> = {}) =>
  judge(
    { ...delivery, ...state },
    {
      attempts: [attempt(statusCode)],
      verdict: { kind: 'retry', ...(afterSeconds !== undefined && { afterSeconds }) },
    },
    undefined,
    0.5,
  );

describe('a 429', () => {
  test('delays the delivery for as long as it asks, and uses up no retry', () => {
    expect(judged(429, 10)).toMatchObject({
      status: 'PENDING',
      reason: 'rate_limited',
      retryStep: 2,
      dueInSeconds: 11,
      health: { kind: 'limited', afterSeconds: 11 },
    });
  });

  test('delays the delivery by half a minute if it has no Retry-After', () => {
    expect(judged(429)).toMatchObject({ retryStep: 2, dueInSeconds: 33 });
  });

  test('delays the delivery, but not the destination, longer each time, no matter what it asks for', () => {
    const delays = [0, 1, 4, 20].map((attemptCount) => judged(429, 0, { attemptCount }).dueInSeconds);
    expect(delays).toEqual([1.1, 2.2, 17.6, 330]);
    expect(judged(429, 0, { attemptCount: 20 }).health).toEqual({ kind: 'limited', afterSeconds: 1.1 });
  });

  test('counts like any other failure after fifty attempts', () => {
    expect(judged(429, 10, { attemptCount: 49 })).toMatchObject({ retryStep: 2 });
    expect(judged(429, 10, { attemptCount: 50 })).toMatchObject({ retryStep: 3, health: { kind: 'failing' } });
  });

  test('counts like any other failure once the delivery is older than the retry schedule', () => {
    expect(judged(429, 10, { ageSeconds: 4 * DAY_SECONDS })).toMatchObject({
      retryStep: 3,
      health: { kind: 'failing' },
    });
  });
});

test('a block delays the delivery and uses up no retry, no matter how often or how long', () => {
  const state = { ...delivery, attemptCount: 1_000, ageSeconds: 90 * DAY_SECONDS };
  const verdict = { kind: 'blocked', reason: 'Blocked.', afterSeconds: 300 } as const;
  expect(judge(state, { attempts: [attempt(429)], verdict }, undefined, 0.5)).toMatchObject({
    status: 'PENDING',
    reason: 'Blocked.',
    retryStep: 2,
    dueInSeconds: 330,
    rejection: null,
    health: { kind: 'blocked', afterSeconds: 300 },
  });
});

test('a 503 with Retry-After uses up a retry and counts as a failure', () => {
  expect(judged(503, 10)).toMatchObject({ status: 'PENDING', retryStep: 3, health: { kind: 'failing' } });
});

test.each([
  ['proxy_error', null],
  ['internal', null],
  ['connection_refused', { kind: 'failing' }],
])(
  'an attempt with the error class %s uses up a retry, with the effect %j on the destination',
  (errorClass, health) => {
    const failed = { ...attempt(0), statusCode: null, errorClass };
    const outcome = judge(delivery, { attempts: [failed], verdict: { kind: 'retry' } }, undefined, 0.5);
    expect(outcome).toMatchObject({ status: 'PENDING', retryStep: 3, health });
  },
);
