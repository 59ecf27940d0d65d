import { describe, expect, test } from 'vitest';
import {
  bucketFilters,
  endOf,
  isSoFar,
  longLabel,
  shortLabel,
  ticksOf,
  zoneNote,
} from '../../src/console/pages/overview/buckets.ts';
import { startOfPeriod } from '../../src/console/parts/period-start.ts';

const DAY = '2026-11-23T00:00:00Z';
const HOUR = '2026-11-23T22:00:00Z';
const NOW = Date.parse('2026-11-23T22:30:00Z');

describe('the axis of a chart', () => {
  const days = Array.from({ length: 30 }, (_, index) => ({ start: `day ${index}` }));

  test.each([1, 3, 7, 30, 100])('has at most %i labels, evenly spaced, and the last one is the latest', (most) => {
    const places = ticksOf(days, most).map((start) => days.findIndex((day) => day.start === start));
    const distances = new Set(places.slice(1).map((place, index) => place - places[index]!));
    expect(places.length).toBeLessThanOrEqual(most);
    expect(places.at(-1)).toBe(29);
    expect(distances.size).toBeLessThanOrEqual(1);
  });

  test('labels every bucket if there is room, and has no labels if there are no buckets', () => {
    expect(ticksOf(days, 30)).toHaveLength(30);
    expect(ticksOf([], 5)).toEqual([]);
  });
});

describe('the label of a bucket', () => {
  test('is in the chosen time zone for an hour', () => {
    expect(shortLabel(HOUR, 'HOUR', 'UTC')).toBe('22:00');
    expect(shortLabel(HOUR, 'HOUR', 'Asia/Tokyo')).toBe('07:00');
    expect(longLabel(HOUR, 'HOUR', 'Asia/Tokyo', NOW)).toBe('Nov 24, 07:00 (so far)');
  });

  test('is in the time zone of a day or a month', () => {
    expect(shortLabel(DAY, 'DAY', 'UTC')).toBe('Nov 23');
    expect(shortLabel('2026-11-01T07:00:00Z', 'MONTH', 'America/Los_Angeles')).toBe('Nov 26');
    expect(longLabel('2026-11-22T08:00:00Z', 'DAY', 'America/Los_Angeles', NOW)).toBe('Sun, Nov 22, 2026');
  });

  test('says that the current day isn’t over', () => {
    expect(longLabel(DAY, 'DAY', 'UTC', NOW)).toBe('Mon, Nov 23, 2026 (so far)');
    expect(isSoFar('2026-11-23T21:00:00Z', 'HOUR', 'UTC', NOW)).toBe(false);
    expect(isSoFar('2026-11-22T22:00:00Z', 'DAY', 'Europe/Athens', NOW)).toBe(false);
  });
});

test('a bucket links to the items from its start to its end, even at the end of a month or a year', () => {
  expect(bucketFilters({ start: DAY, interval: 'DAY', timeZone: 'UTC' }, ['SETTLED', 'FAILED'])).toBe(
    'status=SETTLED&status=FAILED&finishedFrom=2026-11-23T00%3A00%3A00.000Z&finishedTo=2026-11-24T00%3A00%3A00.000Z',
  );
  expect(endOf(HOUR, 'HOUR', 'UTC')).toBe('2026-11-23T23:00:00.000Z');
  expect(endOf('2026-12-01T00:00:00Z', 'MONTH', 'UTC')).toBe('2027-01-01T00:00:00.000Z');
  expect(endOf('2026-11-01T04:00:00Z', 'DAY', 'America/New_York')).toBe('2026-11-02T05:00:00.000Z');
});

test('the charts say which time zone they use', () => {
  expect(zoneNote('HOUR', 'UTC', 'Asia/Tokyo', NOW)).toBe('Times are in Asia/Tokyo.');
  expect(zoneNote('DAY', 'UTC', 'UTC', NOW)).toBe('Days begin at midnight UTC.');
  expect(zoneNote('MONTH', 'UTC', 'Asia/Tokyo', NOW)).toBe(
    'Months begin at midnight UTC, which is 09:00 in Asia/Tokyo.',
  );
  expect(zoneNote('DAY', 'Europe/Vienna', 'Europe/Vienna', NOW)).toBe(
    'Days begin at midnight in Europe/Vienna. For deliveries, they begin at midnight UTC.',
  );
});

test('a period begins with a whole interval and ends with the current one', () => {
  const now = new Date('2026-01-02T03:04:05Z');
  expect(startOfPeriod('HOUR', 24, now, 'UTC').toISOString()).toBe('2026-01-01T04:00:00.000Z');
  expect(startOfPeriod('DAY', 7, now, 'UTC').toISOString()).toBe('2025-12-27T00:00:00.000Z');
  expect(startOfPeriod('MONTH', 12, now, 'UTC').toISOString()).toBe('2025-02-01T00:00:00.000Z');
  // In New York, it is still January 1.
  expect(startOfPeriod('DAY', 7, now, 'America/New_York').toISOString()).toBe('2025-12-26T05:00:00.000Z');
});
