import { expect, test } from 'vitest';
import { judge, type Verdict } from '../../bench/soak/verdict.ts';

const FIGURE = { name: 'memory', unit: 'MB', tolerance: 0.1 };
const samplesOf = (values: number[]) => values.map((value, minute) => ({ minute, values: { memory: value } }));
const series = (valueAt: (minute: number) => number) =>
  samplesOf(Array.from({ length: 60 }, (_, minute) => valueAt(minute)));

test.each<[string, (minute: number) => number, Verdict['verdict']]>([
  ['stays the same', () => 100, 'flat'],
  ['grows only while it warms up', (minute) => Math.min(minute, 25) * 10, 'flat'],
  ['keeps growing', (minute) => 100 + minute, 'growing'],
  ['shrinks', (minute) => 200 - minute, 'flat'],
  ['goes up and down', (minute) => 100 + (minute % 2) * 80, 'flat'],
  ['has a few outliers', (minute) => (minute % 20 === 19 ? 1_000 : 100), 'flat'],
  ['was never measured', () => Number.NaN, 'not measured'],
])('a figure that %s is judged correctly', (_what, valueAt, verdict) => {
  expect(judge(FIGURE, series(valueAt)).verdict).toBe(verdict);
});

test('a figure that is sometimes unknown is judged by its known samples', () => {
  const { firstQuarter, lastQuarter, verdict } = judge(
    FIGURE,
    series((minute) => (minute % 3 ? Number.NaN : 100)),
  );
  expect({ firstQuarter, lastQuarter, verdict }).toEqual({ firstQuarter: 100, lastQuarter: 100, verdict: 'flat' });
});
