import '@mantine/charts/styles.css';
import { BarChart, LineChart } from '@mantine/charts';
import { SimpleGrid } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { useLocation } from 'wouter';
import type { OverviewQuery, RevenueInterval } from '../../../generated/console/overview.ts';
import { useProject } from '../../parts/current-project.tsx';
import { formatCount, formatMilliseconds, formatUsdShort } from '../../parts/format.ts';
import { Panel } from '../../parts/page.tsx';
import { bucketFilters, isSoFar, longLabel, shortLabel, ticksOf } from './buckets.ts';
import { ChartValues } from './values.tsx';

type Project = NonNullable<OverviewQuery['project']>;
/** `status` is the status of the items that a bar counts. */
type Series = { name: string; label: string; color: string; status: string };
/** Opens the list of the items with these statuses that finished in the interval that starts at this time. */
type Open = (start: string, statuses: readonly string[]) => void;
type Row = { start: string; [name: string]: unknown };

/** The width of a label on the time axis, and the width of the value axis. */
const LABEL_PIXELS = 64;
const AXIS_PIXELS = 60;

const MONEY: readonly Series[] = [{ name: 'revenue', label: 'Revenue', color: 'indigo.6', status: 'SETTLED' }];
const PAYMENTS: readonly Series[] = [
  { name: 'paymentCount', label: 'Settled', color: 'teal.6', status: 'SETTLED' },
  { name: 'failedCount', label: 'Failed', color: 'red.6', status: 'FAILED' },
];
const DELIVERIES: readonly Series[] = [
  { name: 'succeededCount', label: 'Succeeded', color: 'teal.6', status: 'SUCCEEDED' },
  { name: 'failedCount', label: 'Failed', color: 'red.6', status: 'FAILED' },
];
const RESPONSE_TIMES: readonly Series[] = [
  { name: 'responseTimeP50Ms', label: 'Median (p50)', color: 'indigo.6', status: 'SUCCEEDED' },
  { name: 'responseTimeP95Ms', label: 'p95', color: 'orange.6', status: 'FAILED' },
];

/**
 * The charts for a period. Clicking a bar opens the list of the items that it counts, and clicking elsewhere in an
 * interval opens all of them. Keyboard users find the same links in the table below.
 */
export function OverviewCharts(props: {
  interval: RevenueInterval;
  timeZone: string;
  now: number;
  revenue: Project['revenue']['buckets'];
  deliveries: Project['deliveryStats']['buckets'];
}) {
  const { interval, timeZone, now, revenue, deliveries } = props;
  const project = useProject();
  const base = `/projects/${project.id}`;
  // Only hours are converted. A day or month in a time zone isn't a day or month in another one.
  const zones =
    interval === 'HOUR'
      ? { payments: timeZone, deliveries: timeZone }
      : { payments: project.timeZone, deliveries: 'UTC' };
  const [, go] = useLocation();
  const money = revenue.map((bucket) => ({ ...bucket, revenue: Number(bucket.totalUsd) }));
  const linkTo = (list: 'payments' | 'deliveries', start: string, statuses: readonly string[]) =>
    `${base}/${list}?${bucketFilters({ start, interval, timeZone: zones[list] }, statuses)}`;
  const chartOf = (list: 'payments' | 'deliveries') => ({
    interval,
    now,
    timeZone: zones[list],
    onOpen: ((...which) => go(linkTo(list, ...which))) satisfies Open,
  });
  const [payments, sent] = [chartOf('payments'), chartOf('deliveries')];
  return (
    <>
      <Panel title="Revenue">
        <Chart
          {...payments}
          label={`Revenue: ${formatUsdShort(sum(money, 'revenue'))} in this period`}
          rows={money}
          series={MONEY}
          height={240}
          format={formatUsdShort}
        />
      </Panel>
      <SimpleGrid cols={{ base: 1, lg: 3 }} spacing="md">
        <Panel title="Payments">
          <Chart
            {...payments}
            label={`Payments: ${sum(money, 'paymentCount')} settled, ${sum(money, 'failedCount')} failed`}
            rows={money}
            isCount
            series={PAYMENTS}
            format={counted('payment', 'payments')}
          />
        </Panel>
        <Panel title="Deliveries">
          <Chart
            {...sent}
            label={`Deliveries: ${sum(deliveries, 'succeededCount')} succeeded, ${sum(deliveries, 'failedCount')} failed`}
            rows={deliveries}
            isCount
            series={DELIVERIES}
            format={counted('delivery', 'deliveries')}
          />
        </Panel>
        <Panel title="Response time">
          <Chart
            {...sent}
            isLine
            label="Delivery response times: median and 95th percentile"
            rows={deliveries}
            series={RESPONSE_TIMES}
            format={formatMilliseconds}
          />
        </Panel>
      </SimpleGrid>
      <ChartValues
        interval={interval}
        now={now}
        zones={zones}
        timeZone={timeZone}
        revenue={revenue}
        deliveries={deliveries}
        linkTo={linkTo}
      />
    </>
  );
}

/** Shows sums as bars, and other values as lines. */
function Chart(props: {
  label: string;
  rows: readonly Row[];
  series: readonly Series[];
  interval: RevenueInterval;
  timeZone: string;
  now: number;
  format: (value: number) => string;
  onOpen: Open;
  height?: number;
  isLine?: boolean;
  /** Whether the values are whole numbers without a unit. */
  isCount?: boolean;
}) {
  const { label, rows, series, interval, timeZone, now, format, onOpen, height = 190 } = props;
  const { isLine = false, isCount = false } = props;
  const statusOf = (name: string) => series.flatMap((each) => (each.name === name ? [each.status] : []));
  const { ref, width } = useElementSize();
  const inner = {
    // The table has the same values, so keyboard navigation skips the chart.
    accessibilityLayer: false,
    style: { cursor: 'pointer' },
    margin: { top: 5, right: 24, bottom: 5, left: 5 },
    onClick: ({ activeLabel }: { activeLabel?: string | number | undefined }) =>
      activeLabel !== undefined &&
      onOpen(
        String(activeLabel),
        series.map(({ status }) => status),
      ),
  };
  const common = {
    dataKey: 'start',
    h: height,
    data: rows.map((row) => ({ ...row, isSoFar: isSoFar(row.start, interval, timeZone, now) })),
    series: [...series],
    withLegend: series.length > 1,
    gridAxis: 'x' as const,
    tickLine: 'none' as const,
    strokeDasharray: '3 4',
    valueFormatter: format,
    xAxisProps: {
      interval: 0,
      ticks: ticksOf(rows, Math.floor((width - AXIS_PIXELS) / LABEL_PIXELS)),
      tickFormatter: (start: string) => shortLabel(start, interval, timeZone),
    },
    yAxisProps: {
      interval: 0,
      tickCount: 5,
      // Round numbers, such as 5, 10, 15.
      niceTicks: 'snap125' as const,
      allowDecimals: !isCount,
      ...(isCount && { tickFormatter: formatCount, width: 40 }),
    },
    tooltipProps: {
      // This is also called without a value while the tooltip is hidden.
      labelFormatter: (start: ReactNode) => start && longLabel(String(start), interval, timeZone, now),
    },
  };
  return (
    <div ref={ref} role="img" aria-label={label}>
      {isLine ? (
        <LineChart {...common} curveType="linear" connectNulls dotProps={{ r: 2 }} lineChartProps={inner} />
      ) : (
        <BarChart
          {...common}
          type="stacked"
          maxBarWidth={48}
          barProps={({ name }) => ({
            shape: Bar,
            onClick: ({ payload }, _index, event) => {
              // The chart would open the items of all bars.
              event.stopPropagation();
              onOpen((payload as Row).start, statusOf(name));
            },
          })}
          barChartProps={inner}
        />
      )}
    </div>
  );
}

type BarShape = { x?: number; y?: number; width?: number; height?: number; fill?: string; fillOpacity?: number };

/** A bar. Until its bucket ends, it is lighter and has a dashed outline. */
function Bar(props: unknown) {
  const { x, y, width, height, fill, fillOpacity, payload } = props as BarShape & { payload: { isSoFar: boolean } };
  const place = { x, y, width, height: Math.max(0, height ?? 0) };
  if (!payload.isSoFar) return <rect {...place} fill={fill} fillOpacity={fillOpacity} />;
  return <rect {...place} fill={fill} fillOpacity={0.35} stroke={fill} strokeDasharray="3 2" />;
}

function counted(one: string, several: string) {
  return (count: number) => `${formatCount(count)} ${count === 1 ? one : several}`;
}

function sum<Name extends string>(rows: readonly { [Key in Name]: number }[], name: Name): number {
  return rows.reduce((total, row) => total + row[name], 0);
}
