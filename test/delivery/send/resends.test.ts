import { describe, expect, test } from 'vitest';
import { lastResend } from '../../../src/delivery/send/resends.ts';

type Earlier = Parameters<typeof lastResend>[0];

/** Attempts as `trigger errorClass`, for example, `MANUAL timeout`. The last one is the claim itself, with its trigger. */
function resendOf(attempts: readonly string[], trigger: 'MANUAL' | 'SCHEDULED', interrupted?: 'interrupted') {
  const earlier = attempts.map((text, index) => {
    const [by, errorClass = null] = text.split(' ');
    return { number: index + 1, trigger: by, errorClass };
  }) as Earlier;
  const previousErrorClass = interrupted ?? earlier.at(-1)?.errorClass ?? null;
  return lastResend(earlier, { trigger, attemptCount: earlier.length, previousErrorClass });
}

describe("a delivery's last resend", () => {
  test.each([
    ['was never resent', [], 'SCHEDULED', null],
    ['is retried', ['SCHEDULED http_status'], 'SCHEDULED', null],
    ['is resent after a response', ['SCHEDULED http_status'], 'MANUAL', 2],
    ['is retried after a resend', ['SCHEDULED http_status', 'MANUAL http_status'], 'SCHEDULED', 2],
    ['is retried after a resend that may have arrived', ['SCHEDULED http_status', 'MANUAL timeout'], 'SCHEDULED', 2],
    ['is resent again', ['SCHEDULED http_status', 'MANUAL http_status'], 'MANUAL', 3],
    ['is resent before its first attempt', [], 'MANUAL', 1],
  ] as const)('is right if it %s', (_what, attempts, trigger, number) => {
    expect(resendOf(attempts, trigger)).toBe(number);
  });

  test.each([
    ['the first attempt', ['SCHEDULED timeout'], null],
    ['the first attempt, and so may the resend', ['SCHEDULED timeout', 'MANUAL timeout'], null],
    ['an earlier resend', ['SCHEDULED http_status', 'MANUAL timeout'], 2],
  ] as const)('does not count if %s may have arrived', (_what, attempts, number) => {
    for (const trigger of ['MANUAL', 'SCHEDULED'] as const) expect(resendOf(attempts, trigger)).toBe(number);
  });

  test('is the same after the worker stopped while it was being sent', () => {
    expect(resendOf(['SCHEDULED http_status'], 'MANUAL', 'interrupted')).toBe(2);
  });
});
