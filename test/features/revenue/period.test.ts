import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bucketStarts, MAX_BUCKETS, type RevenueInterval, toPeriod } from '../../../src/features/revenue/period.ts';
import { splitHours, toBucketPieces, toPieces } from '../../../src/features/revenue/pieces.ts';

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
    expect(period).toEqual({ interval, from: at(from), to: at(to), timeZone: 'UTC' });
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

  test('has days and months of the time zone, of 23 to 25 hours', () => {
    const zoned = (interval: RevenueInterval, from: string, to: string) =>
      bucketStarts(toPeriod({ interval, from: at(from), to: at(to) }, now, 'America/St_Johns'));
    expect(zoned('DAY', '2026-03-07T12:00:00Z', '2026-03-09T12:00:00Z')).toEqual([
      at('2026-03-07T03:30:00Z'),
      at('2026-03-08T03:30:00Z'),
      at('2026-03-09T02:30:00Z'),
    ]);
    expect(zoned('MONTH', '2026-10-31T12:00:00Z', '2026-12-01T03:30:00Z')).toEqual([
      at('2026-10-01T02:30:00Z'),
      at('2026-11-01T02:30:00Z'),
    ]);
    expect(zoned('HOUR', '2026-10-31T12:40:00Z', '2026-10-31T13:00:00Z')).toEqual([at('2026-10-31T12:00:00Z')]);
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
    const times = fc.date({ min: at('1970-03-01T00:00:00Z'), max: at('2200-01-01T00:00:00Z'), noInvalidDate: true });
    fc.assert(
      fc.property(
        times,
        fc.integer({ min: 1, max: 40 * 86_400_000 }),
        fc.constantFrom('HOUR', 'DAY', 'MONTH'),
        fc.constantFrom('UTC', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'America/New_York'),
        (from, length, interval, timeZone) => {
          const to = new Date(from.getTime() + length);
          const period = toPeriod({ from, to, interval }, now, timeZone);
          const starts = bucketStarts(period);
          expect(starts.length).toBeLessThanOrEqual(MAX_BUCKETS);
          expect(starts[0]!.getTime()).toBeLessThanOrEqual(from.getTime());
          expect(period.to.getTime()).toBeGreaterThanOrEqual(to.getTime());
          expect(starts.at(-1)!.getTime()).toBeLessThan(to.getTime());
          for (const start of starts)
            expect(toPeriod({ from: start, to: new Date(start.getTime() + 1), interval }, now, timeZone).from).toEqual(
              start,
            );
        },
      ),
    );
  });
});

describe('the longest intervals of a period', () => {
  test('are months, days around them, and hours at both ends', () => {
    const pieces = toPieces({ from: at('2026-01-30T22:00:00Z'), to: at('2026-04-02T01:00:00Z') }, 'MONTH');
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
        const pieces = toPieces({ from: from!, to: to! }, 'MONTH');
        expect([from, ...pieces.map((piece) => piece.to)]).toEqual([...pieces.map((piece) => piece.from), to]);
        // `toPeriod` widens a period to whole intervals.
        for (const piece of pieces) expect(toPeriod(piece, now)).toMatchObject(piece);
      }),
    );
  });
});

describe('the pieces of intervals', () => {
  const piecesOf = (timeZone: string, from: string, to: string, interval: RevenueInterval) => {
    const period = toPeriod({ from: at(from), to: at(to), interval }, now, timeZone);
    return toBucketPieces(period, bucketStarts(period)).map((piece) => [
      piece.interval,
      piece.from.toISOString().slice(0, 16),
      piece.to.toISOString().slice(0, 16),
    ]);
  };

  test('are the whole UTC days of months, and the hours around them', () => {
    expect(piecesOf('Asia/Kolkata', '2026-01-10T00:00:00Z', '2026-02-10T00:00:00Z', 'MONTH')).toEqual([
      ['HOUR', '2025-12-31T18:00', '2026-01-01T00:00'],
      ['DAY', '2026-01-01T00:00', '2026-01-31T00:00'],
      ['HOUR', '2026-01-31T00:00', '2026-02-01T00:00'],
      ['DAY', '2026-02-01T00:00', '2026-02-28T00:00'],
      ['HOUR', '2026-02-28T00:00', '2026-02-28T19:00'],
    ]);
  });

  test('are UTC days in UTC, and hours if no day is in a single interval', () => {
    expect(piecesOf('UTC', '2026-01-10T00:00:00Z', '2026-03-01T00:00:00Z', 'DAY')).toEqual([
      ['DAY', '2026-01-10T00:00', '2026-03-01T00:00'],
    ]);
    expect(piecesOf('Asia/Kolkata', '2026-01-10T00:00:00Z', '2026-01-12T00:00:00Z', 'DAY')).toEqual([
      ['HOUR', '2026-01-09T18:00', '2026-01-12T19:00'],
    ]);
    expect(splitHours([at('2026-01-09T18:30:00Z'), at('2026-01-10T00:00:00Z')])).toEqual([at('2026-01-09T18:00:00Z')]);
  });

  test('cover each hour once, and no day is in two intervals', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('UTC', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'Europe/London'),
        fc.constantFrom('HOUR', 'DAY', 'MONTH'),
        fc.integer({ min: 0, max: 9_000 }),
        fc.integer({ min: 1, max: 900 }),
        (timeZone, interval, start, hours) => {
          const from = new Date(Date.UTC(2027, 11, 30) + start * 3_600_000);
          const to = new Date(from.getTime() + hours * 3_600_000);
          const period = toPeriod({ from, to, interval }, now, timeZone);
          const starts = bucketStarts(period);
          const pieces = toBucketPieces(period, starts);
          expect(pieces.slice(1).map((piece) => piece.from)).toEqual(pieces.slice(0, -1).map((piece) => piece.to));
          expect(pieces[0]!.from.getTime()).toBe(Math.floor(period.from.getTime() / 3_600_000) * 3_600_000);
          expect(pieces.at(-1)!.to.getTime()).toBe(Math.ceil(period.to.getTime() / 3_600_000) * 3_600_000);
          const days = pieces.filter((piece) => piece.interval === 'DAY');
          for (const { from: first, to: last } of days) {
            const inside = starts.filter((time) => time > first && time < last);
            expect(inside.every((time) => time.getTime() % 86_400_000 === 0)).toBe(true);
          }
        },
      ),
    );
  });
});
