import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addDays, dateAt, firstOfMonth, isTimeZone, startOfDate } from '../src/time-zone.ts';

const HOUR = 3_600_000;
const ZONES = [
  'UTC',
  'Europe/Vienna',
  'America/St_Johns',
  'America/Havana',
  'Australia/Lord_Howe',
  'Asia/Kathmandu',
  'Asia/Beirut',
  'Pacific/Chatham',
  'Pacific/Kiritimati',
  'Pacific/Pago_Pago',
];
const hoursOf = (date: string, timeZone: string) =>
  (startOfDate(addDays(date, 1), timeZone).getTime() - startOfDate(date, timeZone).getTime()) / HOUR;

describe('the start of a day', () => {
  test.each([
    ['UTC', '2026-03-08', '2026-03-08T00:00:00.000Z'],
    ['Asia/Kathmandu', '2026-03-08', '2026-03-07T18:15:00.000Z'],
    ['America/St_Johns', '2026-01-01', '2026-01-01T03:30:00.000Z'],
    ['America/St_Johns', '2026-07-01', '2026-07-01T02:30:00.000Z'],
    ['Australia/Lord_Howe', '2026-01-01', '2025-12-31T13:00:00.000Z'],
    ['Australia/Lord_Howe', '2026-07-01', '2026-06-30T13:30:00.000Z'],
    // Midnight comes twice on this day, and the first one counts.
    ['America/Havana', '2026-11-01', '2026-11-01T04:00:00.000Z'],
    // Midnight is skipped, so the day begins at 01:00.
    ['Asia/Beirut', '2026-03-29', '2026-03-28T22:00:00.000Z'],
    // Samoa skipped this day.
    ['Pacific/Apia', '2011-12-30', '2011-12-30T10:00:00.000Z'],
    ['Pacific/Apia', '2011-12-31', '2011-12-30T10:00:00.000Z'],
  ])('in %s on %s is %s', (timeZone, date, start) => {
    expect(startOfDate(date, timeZone).toISOString()).toBe(start);
  });

  test.each([
    ['Europe/Vienna', '2026-03-29', 23],
    ['Europe/Vienna', '2026-10-25', 25],
    ['America/St_Johns', '2026-03-08', 23],
    ['America/St_Johns', '2026-11-01', 25],
    ['Australia/Lord_Howe', '2026-10-04', 23.5],
    ['Australia/Lord_Howe', '2026-04-05', 24.5],
    ['America/Havana', '2026-11-01', 25],
    ['Asia/Beirut', '2026-03-29', 23],
    ['Asia/Kathmandu', '2026-03-29', 24],
  ])('and the next one in %s on %s are %d hours apart', (timeZone, date, hours) => {
    expect(hoursOf(date, timeZone)).toBe(hours);
  });

  test('is the first moment with its date, in every time zone', () => {
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), fc.integer({ min: 0, max: 30_000 }), (timeZone, days) => {
        const date = addDays('2012-01-01', days);
        const start = startOfDate(date, timeZone);
        expect(dateAt(start, timeZone)).toBe(date);
        expect(dateAt(new Date(start.getTime() - 1), timeZone)).toBe(addDays(date, -1));
      }),
    );
  });
});

test('a month is found from any of its days, across years', () => {
  expect([-2, -1, 0, 1].map((count) => firstOfMonth('2026-01-31', count))).toEqual([
    '2025-11-01',
    '2025-12-01',
    '2026-01-01',
    '2026-02-01',
  ]);
});

test('only names of time zones are time zones', () => {
  for (const name of [...ZONES, 'europe/vienna', 'Etc/GMT+5', 'America/Argentina/Buenos_Aires', 'EST5EDT'])
    expect(isTimeZone(name), name).toBe(true);
  for (const name of ['', 'Vienna', 'Mars/Olympus', '+01:00', '01', 'UTC+1', 'posix/Europe/Vienna', 'Europe/Vienna '])
    expect(isTimeZone(name), name).toBe(false);
});
