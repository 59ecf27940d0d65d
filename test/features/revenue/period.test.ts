import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  bucketStarts,
  MAX_BUCKETS,
  type RevenueInterval,
  toLongestIntervals,
  toPeriod,
} from '../../../src/features/revenue/period.ts';

const now = new Date('2026-03-15T13:45:12.345Z');
const at = (text: string) => new Date(text);
const span = (interval: RevenueInterval, from?: string, to?: string) =>
  toPeriod({ interval, ...(from && { from: at(from) }), ...(to && { to: at(to) }) }, now);

describe('a revenue period', () => {
  test.each([
    ['HOUR', '2026-03-14T14:00:00Z', '2026-03-15T14:00:00Z', 24],
    ['DAY', '2026-02-14T00:00:00Z', '2026-03-16T00:00:00Z', 30],
    ['MONTH', '2025-04-01T00:00:00Z', '2026-04-01T00:00:00Z', 12],
  ] as const)('ends with the current interval if it has no bounds: %s', (interval, from, to, count) => {
    const period = span(interval);
    expect(period).toEqual({ interval, from: at(from), to: at(to) });
    expect(bucketStarts(period)).toHaveLength(count);
  });

  test('keeps bounds on interval boundaries and widens others', () => {
    const whole = span('DAY', '2026-01-01T00:00:00Z', '2026-01-03T00:00:00Z');
    expect(bucketStarts(whole)).toEqual([at('2026-01-01T00:00:00Z'), at('2026-01-02T00:00:00Z')]);
    expect(span('DAY', '2026-01-01T23:59:59.999Z', '2026-01-02T00:00:00.001Z')).toEqual(whole);
    expect(span('HOUR', '2026-01-01T02:30:00+02:00', '2026-01-01T00:31:00Z')).toMatchObject({
      from: at('2026-01-01T00:00:00Z'),
      to: at('2026-01-01T01:00:00Z'),
    });
  });

  test('has months of the correct length, including in leap years', () => {
    const starts = bucketStarts(span('MONTH', '2028-01-31T10:00:00Z', '2028-03-01T00:00:01Z'));
    expect(starts).toEqual([at('2028-01-01T00:00:00Z'), at('2028-02-01T00:00:00Z'), at('2028-03-01T00:00:00Z')]);
  });

  test.each([
    ['empty', 'DAY', '2026-01-02T00:00:00Z', '2026-01-02T00:00:00Z', '/to'],
    ['reversed', 'DAY', '2026-01-02T00:00:00Z', '2026-01-01T00:00:00Z', '/to'],
    ['too many hours long', 'HOUR', '2026-01-01T00:00:00Z', '2026-03-01T00:00:00Z', '/from'],
    ['from the year 1', 'MONTH', '0001-01-01T00:00:00Z', '2026-01-01T00:00:00Z', '/from'],
    ['to the year 9999', 'MONTH', '2026-01-01T00:00:00Z', '9999-12-31T00:00:00Z', '/to'],
  ] as const)('cannot be %s', (_name, interval, from, to, pointer) => {
    expect(() => span(interval, from, to)).toThrow(
      expect.objectContaining({ fields: [expect.objectContaining({ pointer })] }),
    );
  });

  test('covers the requested time with consecutive intervals', () => {
    const times = fc.date({ min: at('1970-01-01T00:00:00Z'), max: at('2200-01-01T00:00:00Z'), noInvalidDate: true });
    fc.assert(
      fc.property(
        times,
        fc.integer({ min: 1, max: 40 * 86_400_000 }),
        fc.constantFrom('HOUR', 'DAY', 'MONTH'),
        (from, length, interval) => {
          const to = new Date(from.getTime() + length);
          const period = toPeriod({ from, to, interval }, now);
          const starts = bucketStarts(period);
          expect(starts.length).toBeLessThanOrEqual(MAX_BUCKETS);
          expect(starts[0]!.getTime()).toBeLessThanOrEqual(from.getTime());
          expect(period.to.getTime()).toBeGreaterThanOrEqual(to.getTime());
          expect(starts.at(-1)!.getTime()).toBeLessThan(to.getTime());
          for (const start of starts)
            expect(toPeriod({ from: start, to: new Date(start.getTime() + 1), interval }, now).from).toEqual(start);
        },
      ),
    );
  });
});

describe('the longest intervals of a period', () => {
  test('are months, days around them, and hours at both ends', () => {
    const pieces = toLongestIntervals({ from: at('2026-01-30T22:00:00Z'), to: at('2026-04-02T01:00:00Z') });
    expect(pieces.map(({ interval, from, to }) => [interval, from.toISOString(), to.toISOString()])).toEqual([
      ['HOUR', '2026-01-30T22:00:00.000Z', '2026-01-31T00:00:00.000Z'],
      ['DAY', '2026-01-31T00:00:00.000Z', '2026-02-01T00:00:00.000Z'],
      ['MONTH', '2026-02-01T00:00:00.000Z', '2026-04-01T00:00:00.000Z'],
      ['DAY', '2026-04-01T00:00:00.000Z', '2026-04-02T00:00:00.000Z'],
      ['HOUR', '2026-04-02T00:00:00.000Z', '2026-04-02T01:00:00.000Z'],
    ]);
  });

  test('cover it without gaps, and each piece consists of whole intervals', () => {
    const hour = fc
      .integer({ min: 0, max: 3_000 })
      .map((hours) => new Date(Date.UTC(2027, 11, 30) + hours * 3_600_000));
    fc.assert(
      fc.property(hour, hour, (one, other) => {
        const [from, to] = one < other ? [one, other] : [other, new Date(one.getTime() + 3_600_000)];
        const pieces = toLongestIntervals({ from: from!, to: to! });
        expect([from, ...pieces.map((piece) => piece.to)]).toEqual([...pieces.map((piece) => piece.from), to]);
        // `toPeriod` widens a period to whole intervals.
        for (const piece of pieces) expect(toPeriod(piece, now)).toEqual(piece);
      }),
    );
  });
});
