import '@mantine/charts/styles.css';
import { AreaChart, BarChart, LineChart } from '@mantine/charts';
import { SimpleGrid } from '@mantine/core';
import type { ReactNode } from 'react';
import type { OverviewQuery, RevenueInterval } from '../../../generated/console/overview.ts';
import { formatCount, formatMilliseconds, formatUsdShort } from '../../parts/format.ts';
import { Panel } from '../../parts/page.tsx';

type Project = NonNullable<OverviewQuery['project']>;
type Labels = { start: string };

const LABELS: Readonly<Record<RevenueInterval, Intl.DateTimeFormatOptions>> = {
  // Intervals are in UTC. In other time zones, a day could be labeled as the day before.
  HOUR: { weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZone: 'UTC' },
  DAY: { month: 'short', day: 'numeric', timeZone: 'UTC' },
  MONTH: { month: 'short', year: 'numeric', timeZone: 'UTC' },
};

const COMMON = {
  dataKey: 'start',
  withLegend: false,
  gridAxis: 'x',
  tickLine: 'none',
  strokeDasharray: '3 4',
  xAxisProps: { minTickGap: 40 },
} as const;

/** The charts aren't interactive, so the keyboard skips them. Their labels say what they show. */
const STILL = { accessibilityLayer: false } as const;

export function OverviewCharts(props: {
  interval: RevenueInterval;
  revenue: Project['revenue']['buckets'];
  deliveries: Project['deliveryStats']['buckets'];
}) {
  const { interval, revenue, deliveries } = props;
  const money = labelled(revenue, interval).map((bucket) => ({ ...bucket, revenue: Number(bucket.totalUsd) }));
  const sent = labelled(deliveries, interval);
  return (
    <>
      <Panel title="Revenue">
        <Chart label={`Revenue: ${formatUsdShort(sum(money, ({ revenue: amount }) => amount))} in this period`}>
          <AreaChart
            {...COMMON}
            h={220}
            data={money}
            series={[{ name: 'revenue', label: 'Revenue', color: 'indigo.6' }]}
            valueFormatter={formatUsdShort}
            curveType="monotone"
            withDots={false}
            fillOpacity={0.16}
            areaChartProps={STILL}
          />
        </Chart>
      </Panel>
      <SimpleGrid cols={{ base: 1, md: 3 }} spacing="md">
        <Panel title="Payments">
          <Chart
            label={`Payments: ${sum(money, ({ paymentCount }) => paymentCount)} settled, ${sum(money, ({ failedCount }) => failedCount)} failed`}
          >
            <BarChart
              {...COMMON}
              h={150}
              type="stacked"
              data={money}
              series={[
                { name: 'paymentCount', label: 'Settled', color: 'teal.6' },
                { name: 'failedCount', label: 'Failed', color: 'red.6' },
              ]}
              valueFormatter={formatCount}
              barChartProps={STILL}
            />
          </Chart>
        </Panel>
        <Panel title="Deliveries">
          <Chart
            label={`Deliveries: ${sum(sent, ({ succeededCount }) => succeededCount)} succeeded, ${sum(sent, ({ failedCount }) => failedCount)} failed`}
          >
            <BarChart
              {...COMMON}
              h={150}
              type="stacked"
              data={sent}
              series={[
                { name: 'succeededCount', label: 'Succeeded', color: 'teal.6' },
                { name: 'failedCount', label: 'Failed', color: 'red.6' },
              ]}
              valueFormatter={formatCount}
              barChartProps={STILL}
            />
          </Chart>
        </Panel>
        <Panel title="Response time">
          <Chart label="Delivery response times: median and 95th percentile">
            <LineChart
              {...COMMON}
              h={150}
              data={sent}
              series={[
                { name: 'responseTimeP50Ms', label: 'Median (p50)', color: 'indigo.6' },
                { name: 'responseTimeP95Ms', label: '95th percentile (p95)', color: 'orange.6' },
              ]}
              valueFormatter={formatMilliseconds}
              curveType="monotone"
              connectNulls
              dotProps={{ r: 2 }}
              lineChartProps={STILL}
            />
          </Chart>
        </Panel>
      </SimpleGrid>
    </>
  );
}

function Chart({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div role="img" aria-label={label}>
      {children}
    </div>
  );
}

function labelled<Bucket extends Labels>(buckets: readonly Bucket[], interval: RevenueInterval): Bucket[] {
  const format = new Intl.DateTimeFormat('en', LABELS[interval]);
  return buckets.map((bucket) => ({ ...bucket, start: format.format(new Date(bucket.start)) }));
}

function sum<Bucket>(buckets: readonly Bucket[], of: (bucket: Bucket) => number): number {
  return buckets.reduce((total, bucket) => total + of(bucket), 0);
}
