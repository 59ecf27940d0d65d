import { SegmentedControl } from '@mantine/core';
import { useMemo } from 'react';
import { useSearchParams } from 'wouter';
import { startOfPeriod } from './period-start.ts';

/** The time ranges to choose from. `count` is the number of intervals in their charts, including the current one. */
const PERIODS = {
  '24h': { label: '24 hours', interval: 'HOUR', count: 24 },
  '7d': { label: '7 days', interval: 'DAY', count: 7 },
  '30d': { label: '30 days', interval: 'DAY', count: 30 },
  '12mo': { label: '12 months', interval: 'MONTH', count: 12 },
} as const;

type PeriodName = keyof typeof PERIODS;

const DEFAULT: PeriodName = '30d';

/** Names are in the URL, so anything can be in their place. */
function isName(name: string): name is PeriodName {
  return Object.hasOwn(PERIODS, name);
}

/**
 * The period in the page's URL, and a control to change it. Its start is fixed when the period is chosen. A moving start
 * would trigger a new query on every render. It is the start of an interval, so that charts and totals match. `utcFrom` is
 * the start of the same period in UTC.
 *
 * @param timeZone the time zone of days and months
 */
export function usePeriod(timeZone: string) {
  const [parameters, setParameters] = useSearchParams();
  const chosen = parameters.get('period') ?? DEFAULT;
  const name = isName(chosen) ? chosen : DEFAULT;
  function choose(value: string): void {
    setParameters((current) => {
      if (value === DEFAULT) current.delete('period');
      else current.set('period', value);
      return current;
    });
  }
  const control = (
    <SegmentedControl
      aria-label="Period"
      size="xs"
      data={Object.entries(PERIODS).map(([value, { label }]) => ({ value, label }))}
      value={name}
      onChange={choose}
    />
  );
  const { interval, count } = PERIODS[name];
  const starts = useMemo(() => {
    const [now, start] = [new Date(), (zone: string) => startOfPeriod(interval, count, now, zone).toISOString()];
    return { from: start(timeZone), utcFrom: start('UTC') };
  }, [interval, count, timeZone]);
  return { ...starts, interval, control };
}
