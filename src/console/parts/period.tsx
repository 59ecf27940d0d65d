import { SegmentedControl } from '@mantine/core';
import { useMemo } from 'react';
import { startOfPeriod } from './period-start.ts';

/** The time ranges to choose from. `count` is the number of intervals in their charts, including the current one. */
const PERIODS = {
  '24h': { label: '24 hours', interval: 'HOUR', count: 24 },
  '7d': { label: '7 days', interval: 'DAY', count: 7 },
  '30d': { label: '30 days', interval: 'DAY', count: 30 },
  '12mo': { label: '12 months', interval: 'MONTH', count: 12 },
} as const;

export type PeriodName = keyof typeof PERIODS;

export function PeriodControl({ value, onChange }: { value: PeriodName; onChange(value: PeriodName): void }) {
  return (
    <SegmentedControl
      aria-label="Period"
      size="xs"
      data={Object.entries(PERIODS).map(([name, { label }]) => ({ value: name, label }))}
      value={value}
      onChange={(name) => onChange(name as PeriodName)}
    />
  );
}

/**
 * The start of a period, fixed when the period is chosen. A moving start would trigger a new query on every render. It
 * is the start of an interval in UTC, so that charts and totals match.
 */
export function usePeriod(name: PeriodName) {
  return useMemo(() => {
    const { interval, count } = PERIODS[name];
    return { from: startOfPeriod(interval, count, new Date()).toISOString(), interval };
  }, [name]);
}
