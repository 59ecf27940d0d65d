import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Booking, bookingOf, isBooked, judgeBooked } from '../../../src/connectors/shared/booking.ts';
import { EVENT_TYPES } from '../../../src/events/types.ts';
import { formatUsd } from '../../../src/money.ts';
import { HOSTILE_TEXTS, sampleEvent, testEvent } from '../support/samples.ts';

function booked(...args: Parameters<typeof bookingOf>): Booking {
  const booking = bookingOf(...args);
  if ('skip' in booking) throw new Error(booking.skip);
  return booking;
}

describe('the event types that are booked', () => {
  test('are daily summaries, and payments only if no summaries are selected', () => {
    const supported = (...selected: (typeof EVENT_TYPES)[number][]) =>
      EVENT_TYPES.filter((eventType) => isBooked(eventType, new Set(selected)));
    expect(supported(...EVENT_TYPES)).toEqual(['revenue.daily_summary']);
    expect(supported('payment.settled', 'revenue.daily_summary')).toEqual(['revenue.daily_summary']);
    expect(supported('payment.settled')).toEqual(['payment.settled', 'revenue.daily_summary']);
  });

  test('never include both a payment and the total that contains it', () => {
    fc.assert(
      fc.property(fc.subarray(EVENT_TYPES), (kinds) => {
        const selected = new Set(kinds);
        const booking = kinds.filter((eventType) => isBooked(eventType, selected));
        expect(booking.length).toBeLessThanOrEqual(1);
      }),
    );
  });
});

describe('an accounting entry', () => {
  test("has a day's total in cents", () => {
    expect(booked(sampleEvent('revenue.daily_summary'))).toEqual({
      date: '2026-01-02',
      dayEndsAt: new Date('2026-01-03T00:00:00Z'),
      amountUsd: 12.34,
      description: 'Revenue for 2026-01-02 (UTC): 1204 payments from 37 customers, 12.34 USD',
      reference: 'evt_01jc9x2v5qe3w8k4m6n7p9r0st',
      number: expect.stringMatching(/^X402260102[0-9A-Z]{3}$/),
      dayNumber: expect.stringMatching(/^X402260102[0-9A-Z]{3}$/),
      isDayTotal: true,
    });
  });

  test('counts a single payment and customer in the singular', () => {
    const { description } = booked(sampleEvent('revenue.daily_summary', { paymentCount: 1, customerCount: 1 }));
    expect(description).toContain('1 payment from 1 customer,');
  });

  test('belongs to the UTC day on which the payment settled', () => {
    const booking = booked(sampleEvent('payment.settled', {}, { timestamp: '2026-01-02T23:59:59.999Z' }));
    expect(booking).toMatchObject({ date: '2026-01-02', amountUsd: 0.01, isDayTotal: false });
    expect(booking.number).toMatch(/^X402260102[0-9A-Z]{3}-[0-9A-Z]{7}$/);
    expect(booking.number.startsWith(booking.dayNumber)).toBe(true);
  });

  test("belongs to the day in the project's time zone, which the event contains", () => {
    const payment = booked(
      sampleEvent('payment.settled', { bookingDate: '2026-01-03' }, { timestamp: '2026-01-02T23:59:59.999Z' }),
    );
    const total = booked(sampleEvent('revenue.daily_summary', { date: '2026-01-03', timeZone: 'Asia/Tokyo' }));
    expect(payment).toMatchObject({ date: '2026-01-03', dayNumber: total.number });
    expect(total.description).toContain('Revenue for 2026-01-03 (Asia/Tokyo):');
    // The same date ends first in UTC+14.
    expect(payment.dayEndsAt).toEqual(new Date('2026-01-03T10:00:00Z'));
  });

  test('has the same number every time, and a different number for another project, day, or payment', () => {
    const number = (...args: Parameters<typeof sampleEvent>) => booked(sampleEvent(...args)).number;
    const numbers = [
      number('payment.settled'),
      number('payment.settled', { paymentId: 'pay_2' }),
      number('payment.settled', {}, { projectId: 'proj_2' }),
      number('payment.settled', {}, { timestamp: '2026-01-03T00:00:00.000Z' }),
      number('revenue.daily_summary'),
      number('revenue.daily_summary', {}, { projectId: 'proj_2' }),
      number('revenue.daily_summary', { date: '2026-01-03' }),
    ];
    expect(new Set(numbers).size).toBe(numbers.length);
    expect(number('payment.settled')).toBe(numbers[0]);
  });

  test('is rounded to the nearest cent, and skipped if the result is zero', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 15n }), (atomic) => {
        const booking = bookingOf(sampleEvent('revenue.daily_summary', { totalUsd: formatUsd(atomic) }));
        if ('skip' in booking) {
          expect(atomic).toBeLessThan(5000n);
          return;
        }
        const cents = BigInt(Math.round(booking.amountUsd * 100));
        expect(cents).toBe((atomic + 5000n) / 10_000n);
        expect(String(booking.amountUsd)).toMatch(/^\d+(\.\d{1,2})?$/);
        expect(booking.number.length).toBeLessThanOrEqual(21);
      }),
    );
  });

  test('is skipped for a test event and for an event that settles nothing', () => {
    for (const eventType of EVENT_TYPES) expect(bookingOf(testEvent(eventType))).toHaveProperty('skip');
    for (const eventType of EVENT_TYPES.filter(
      (eventType) => eventType !== 'payment.settled' && eventType !== 'revenue.daily_summary',
    )) {
      expect(bookingOf(sampleEvent(eventType))).toHaveProperty('skip');
    }
  });

  test.each(HOSTILE_TEXTS)('shows hostile text in one short line: %j', (text) => {
    const { description } = booked(sampleEvent('payment.settled', { endpointPath: text, transactionHash: text }));
    expect(description.length).toBeLessThanOrEqual(400);
    expect(description).not.toMatch(/[\p{Cc}\p{Cs}\u202A-\u202E]/u);
    expect(description.startsWith('Payment of 0.01 USD for ')).toBe(true);
  });
});

describe('a check for existing entries', () => {
  const day = booked(sampleEvent('revenue.daily_summary'));
  const payment = booked(sampleEvent('payment.settled'));
  const dayEntry = { number: day.number, reference: day.reference };
  const paymentEntry = { number: payment.number, reference: payment.reference };

  test.each([
    ['a day without entries', day, [], undefined],
    ['a day that is booked', day, [dayEntry], 'delivered'],
    ['a day that is booked with a note', day, [{ ...dayEntry, reference: `${day.reference} ok` }], 'delivered'],
    ['a day whose number is taken', day, [{ ...dayEntry, reference: null }], 'hold'],
    ['a day with a booked payment', day, [paymentEntry], 'drop'],
    ['a payment without entries', payment, [], undefined],
    ['a payment that is booked', payment, [paymentEntry], 'delivered'],
    ['a payment whose day is booked', payment, [dayEntry], 'delivered'],
    ['a payment whose number is taken', payment, [{ ...paymentEntry, reference: 'evt_other' }], 'hold'],
    [
      'a payment of a day with other payments',
      payment,
      [{ number: `${day.number}-OTHER00`, reference: 'evt_other' }],
      undefined,
    ],
  ])('handles %s', (_case, booking, documents, kind) => {
    expect(judgeBooked(booking, documents)?.kind).toBe(kind);
  });
});
