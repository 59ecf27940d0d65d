import { expect, test } from 'vitest';
import { expiryOf, LIFETIMES } from '../../src/console/pages/api-keys/expiry.ts';
import { keyStatus } from '../../src/console/pages/api-keys/key-status.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const inDays = (days: number) => new Date(NOW + days * 24 * 3_600_000).toISOString();

test('a new API key expires after the chosen time, or at the end of the chosen day', () => {
  const expiries = LIFETIMES.slice(0, -1).map(({ value }) => expiryOf(value, '', NOW));
  expect(expiries).toEqual([null, inDays(30), inDays(90), inDays(365)]);
  expect(expiryOf('date', '2026-01-31', NOW)).toBe(new Date(2026, 1, 1).toISOString());
});

test.each([
  [null, 'Active'],
  [inDays(8), 'Active'],
  [inDays(6), 'Expires soon'],
  [inDays(0), 'Expired'],
  [inDays(-1), 'Expired'],
])('an API key that expires at %s is shown as %s', (expiresAt, word) => {
  expect(keyStatus({ expiresAt }, NOW).word).toBe(word);
});
