import { median, percentile } from '../support/statistics.ts';
import type { Figure, Sample } from './samples.ts';

export type Verdict = {
  firstQuarter: number;
  lastQuarter: number;
  /** The growth over the second half of the run, relative to that half's median. */
  growth: number;
  verdict: 'flat' | 'growing' | 'not measured';
};

/**
 * Determines whether a figure is growing. The first half of a run is for warming up. In the second half, the growth is
 * the slope of the figure times the duration, relative to its median. The slope is the median of the slopes between all
 * pairs of samples (Theil–Sen), so a few outliers don't matter. A figure counts as growing if its growth exceeds its
 * tolerance.
 */
export function judge({ name, tolerance }: Figure, samples: readonly Sample[]): Verdict {
  const points = samples
    .map(({ minute, values }) => ({ minute, value: values[name] ?? Number.NaN }))
    .filter(({ value }) => Number.isFinite(value));
  const quarter = Math.max(1, Math.floor(points.length / 4));
  const second = points.slice(Math.floor(points.length / 2));
  const slopes = second.flatMap((later, index) =>
    second.slice(0, index).map((earlier) => (later.value - earlier.value) / (later.minute - earlier.minute)),
  );
  const minutes = second.length > 1 ? second.at(-1)!.minute - second[0]!.minute : 0;
  const middle = median(second, ({ value }) => value);
  const growth = slopes.length > 0 && middle > 0 ? (percentile(slopes, 0.5) * minutes) / middle : 0;
  return {
    firstQuarter: median(points.slice(0, quarter), ({ value }) => value),
    lastQuarter: median(points.slice(-quarter), ({ value }) => value),
    growth,
    verdict: points.length === 0 ? 'not measured' : growth > tolerance ? 'growing' : 'flat',
  };
}
