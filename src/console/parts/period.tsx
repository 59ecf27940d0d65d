import { SegmentedControl } from '@mantine/core';
import { useMemo } from 'react';

const HOUR_MILLISECONDS = 3_600_000;
const DAY_MILLISECONDS = 24 * HOUR_MILLISECONDS;

/** The time ranges to choose from, with their charts' intervals. */
const PERIODS = {
  '24h': { label: '24 hours', milliseconds: DAY_MILLISECONDS, interval: 'HOUR' },
  '7d': { label: '7 days', milliseconds: 7 * DAY_MILLISECONDS, interval: 'HOUR' },
  '30d': { label: '30 days', milliseconds: 30 * DAY_MILLISECONDS, interval: 'DAY' },
  '12mo': { label: '12 months', milliseconds: 365 * DAY_MILLISECONDS, interval: 'MONTH' },
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

/** The start of a period, fixed when the period is chosen. A moving start would trigger a new query on every render. */
export function usePeriod(name: PeriodName) {
  return useMemo(() => {
    const { milliseconds, interval } = PERIODS[name];
    return { from: new Date(Date.now() - milliseconds).toISOString(), interval };
  }, [name]);
}
