import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RETRY_SCHEDULES as LABELS } from '../../../src/console/pages/webhooks/retry-schedules.ts';
import {
  isQuickFailure,
  RETRY_SCHEDULE_SECONDS,
  RETRY_SCHEDULES,
  retryDelaySeconds,
  retryScheduleOf,
} from '../../../src/delivery/send/retry-policy.ts';
import { judgeStatus } from '../../../src/delivery/send/send-webhook.ts';

const DAY = 86_400;

function describeWait(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  return seconds < 3_600 ? `${seconds / 60} min` : `${seconds / 3_600} h`;
}
const failure = { durationMs: 10, statusCode: null, errorClass: null };

describe('retryDelaySeconds', () => {
  test('follows the schedule of 5 s, 5 min, 30 min, 2, 5, 10, 14, 20, and 24 h, then ends', () => {
    const delays = RETRY_SCHEDULE_SECONDS.map((_, step) => retryDelaySeconds(RETRY_SCHEDULE_SECONDS, step, 0, 0.5));
    expect(delays).toEqual([5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]);
    expect(retryDelaySeconds(RETRY_SCHEDULE_SECONDS, 9)).toBeUndefined();
  });

  test('stays within 20% of the schedule, and never retries earlier than the destination asked for, up to a day', () => {
    const steps = fc.integer({ min: 0, max: RETRY_SCHEDULE_SECONDS.length - 1 });
    const random = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(steps, fc.integer({ min: 0, max: 10 * DAY }), random, (step, afterSeconds, chance) => {
        const scheduled = RETRY_SCHEDULE_SECONDS[step]!;
        const delay = retryDelaySeconds(RETRY_SCHEDULE_SECONDS, step, afterSeconds, chance)!;
        expect(delay).toBeGreaterThanOrEqual(Math.max(scheduled * 0.8, Math.min(afterSeconds, DAY)) - 1e-6);
        expect(delay).toBeLessThanOrEqual(Math.max(scheduled * 1.2, Math.min(afterSeconds, DAY)) + 1e-6);
      }),
    );
  });
});

describe('retryScheduleOf', () => {
  test("is the webhook's own, the connector type's own, or the standard one", () => {
    expect(retryScheduleOf({})).toBe(RETRY_SCHEDULE_SECONDS);
    expect(retryScheduleOf({ webhook: { retrySchedule: 'STANDARD' } })).toBe(RETRY_SCHEDULE_SECONDS);
    expect(retryScheduleOf({ webhook: { retrySchedule: 'SHORT' } })).toEqual([5, 60, 300, 600, 900, 1_800]);
    expect(retryScheduleOf({ definition: {} })).toBe(RETRY_SCHEDULE_SECONDS);
    expect(retryScheduleOf({ definition: { retryDelaysSeconds: [1, 2] } })).toEqual([1, 2]);
  });

  test("can be overridden, except for a webhook's own schedule", () => {
    expect(retryScheduleOf({}, [3])).toEqual([3]);
    expect(retryScheduleOf({ definition: { retryDelaysSeconds: [1, 2] } }, [3])).toEqual([3]);
    expect(retryScheduleOf({ webhook: { retrySchedule: 'NONE' } }, [3])).toEqual([]);
  });

  test('is described everywhere with its waits, their number, and their total', async () => {
    const [documentation, schema] = await Promise.all(
      ['docs/webhooks.md', 'schema.graphql'].map((path) => readFile(path, 'utf8')),
    );
    const totals = {
      STANDARD: [3, DAY, 'days'],
      SHORT: [1, 3_600, 'hour'],
      LONG: [7, DAY, 'week'],
      NONE: [0, 1, ''],
    } as const;
    for (const [name, [count, unit, word]] of Object.entries(totals)) {
      const waits = RETRY_SCHEDULES[name as keyof typeof totals];
      const total = waits.reduce((sum, seconds) => sum + seconds, 0);
      expect(Math.round(total / unit), name).toBe(count);
      if (waits.length === 0) continue;
      const texts = waits.map(describeWait);
      expect(documentation).toMatch(new RegExp(`\\| ${texts.join(', ')} \\| about [a3].* ?${word} \\|`));
      expect(schema).toMatch(
        new RegExp(`${texts.slice(0, -1).join(', ')}, and ${texts.at(-1)}: about [a3].* ?${word} in total`),
      );
      const { label } = LABELS.find(({ value }) => value === name)!;
      expect(label).toMatch(new RegExp(`${waits.length} retries in about [a3].* ?${word}$`));
    }
    expect(LABELS.map(({ value }) => value)).toEqual(Object.keys(RETRY_SCHEDULES));
  });
});

describe('isQuickFailure', () => {
  test.each([
    ['a refused connection', { ...failure, errorClass: 'connection_refused' }, undefined, true],
    ['a reset connection', { ...failure, errorClass: 'connection_reset' }, undefined, true],
    ['an immediate 5xx', { ...failure, statusCode: 503, errorClass: 'http_status' }, undefined, true],
    ['a 5xx after a second', { durationMs: 1_000, statusCode: 500, errorClass: 'http_status' }, undefined, false],
    ['a 4xx', { ...failure, statusCode: 404, errorClass: 'http_status' }, undefined, false],
    ['a short Retry-After', { ...failure, statusCode: 429, errorClass: 'http_status' }, 2, true],
    ['a long Retry-After', { ...failure, statusCode: 503, errorClass: 'http_status' }, 3, false],
    ['a timeout', { ...failure, errorClass: 'timeout' }, undefined, false],
    ['a name that does not resolve', { ...failure, errorClass: 'dns_error' }, undefined, false],
    ['a target that is not allowed', { ...failure, errorClass: 'target_not_allowed' }, undefined, false],
    ['an internal error', { ...failure, errorClass: 'internal' }, undefined, false],
  ])('classifies %s correctly', (_, attempt, afterSeconds, expected) => {
    expect(isQuickFailure(attempt, afterSeconds, true)).toBe(expected);
  });

  test('is false for a request that may have arrived, if it must not be sent twice', () => {
    expect(isQuickFailure({ ...failure, errorClass: 'connection_reset' }, undefined, false)).toBe(false);
    expect(isQuickFailure({ ...failure, errorClass: 'connection_refused' }, undefined, false)).toBe(true);
  });
});

describe('judgeStatus', () => {
  test.each([
    [200, undefined, { kind: 'delivered' }],
    [204, undefined, { kind: 'delivered' }],
    [299, undefined, { kind: 'delivered' }],
    [301, undefined, { kind: 'retry' }],
    [304, undefined, { kind: 'retry' }],
    [400, 5, { kind: 'retry' }],
    [404, undefined, { kind: 'retry' }],
    [410, undefined, { kind: 'disable', reason: 'gone' }],
    [429, 7, { kind: 'retry', afterSeconds: 7 }],
    [500, 7, { kind: 'retry' }],
    [503, 7, { kind: 'retry', afterSeconds: 7 }],
    [503, undefined, { kind: 'retry' }],
  ])('maps status %i with Retry-After %s to %j', (statusCode, retryAfter, verdict) => {
    expect(judgeStatus(statusCode, retryAfter).verdict).toEqual(verdict);
  });
});
