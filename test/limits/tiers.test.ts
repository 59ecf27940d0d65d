import { expect, test } from 'vitest';
import { isRequestsPerMinute, limitsOf, parseTier } from '../../src/limits/tiers.ts';

test.each([
  ['STARTER', null, 60, 0, 10],
  ['PRO', null, 300, 5, 50],
  ['BUSINESS', null, 1000, 15, 200],
  ['ENTERPRISE', null, null, null, null],
  ['ENTERPRISE', 12_000, 12_000, null, null],
  ['STARTER', 12_000, 60, 0, 10],
] as const)(
  'the tier %s with a custom rate of %s has %s requests per minute, %s connectors, and %s webhooks per project',
  (tier, rate, requestsPerMinute, maxConnectors, maxWebhooksPerProject) => {
    expect(limitsOf(tier, rate)).toMatchObject({ requestsPerMinute, maxConnectors, maxWebhooksPerProject });
  },
);

test('tier names are accepted regardless of capitalization, and other text is rejected', () => {
  expect(['pro', 'Pro', 'PRO'].map(parseTier)).toEqual(['PRO', 'PRO', 'PRO']);
  expect(['', 'gold', 'toString', '__proto__'].map(parseTier)).toEqual(Array(4).fill(undefined));
});

test('a custom rate is a whole number from 1 to a million', () => {
  expect([1, 60, 1_000_000].every(isRequestsPerMinute)).toBe(true);
  expect(
    [0, -1, 1.5, 1_000_001, Number.NaN, Number.POSITIVE_INFINITY, '60', null, undefined].some(isRequestsPerMinute),
  ).toBe(false);
});
