import { Anchor, Text } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'wouter';
import type { OverviewQuery, RevenueInterval } from '../../../generated/console/overview.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { formatCount, formatMilliseconds, formatUsd } from '../../parts/format.ts';
import { Panel } from '../../parts/page.tsx';
import { longLabel, shortLabel, zoneNote } from './buckets.ts';

type Project = NonNullable<OverviewQuery['project']>;
type Revenue = Project['revenue']['buckets'][number];
type Deliveries = Project['deliveryStats']['buckets'][number];
type Row = { start: string; revenue: Revenue; deliveries: Deliveries | undefined };

const UNITS: Readonly<Record<RevenueInterval, string>> = { HOUR: 'Hour', DAY: 'Day', MONTH: 'Month' };

/** The values of the charts as a table, latest first. Each value links to the list of the items that it counts. */
export function ChartValues(props: {
  interval: RevenueInterval;
  /** The time zones of the intervals. */
  zones: { payments: string; deliveries: string };
  /** The time zone that the reader chose. */
  timeZone: string;
  now: number;
  revenue: readonly Revenue[];
  deliveries: readonly Deliveries[];
  linkTo: (list: 'payments' | 'deliveries', start: string, statuses: readonly string[]) => string;
}) {
  const { interval, zones, timeZone, now, revenue, deliveries, linkTo } = props;
  const [isOpen, setOpen] = useState(false);
  // Days with the same date share a row, even if they are in different time zones.
  const keyOf = (start: string, zone: string) => (interval === 'HOUR' ? start : shortLabel(start, interval, zone));
  const found = new Map(deliveries.map((bucket) => [keyOf(bucket.start, zones.deliveries), bucket]));
  const rows = revenue.map((bucket) => ({
    start: bucket.start,
    revenue: bucket,
    deliveries: found.get(keyOf(bucket.start, zones.payments)),
  }));
  const label = ({ start }: Row) => longLabel(start, interval, zones.payments, now);
  const columns: Column<Row>[] = [
    { title: UNITS[interval], render: label },
    {
      title: 'Revenue',
      align: 'right',
      render: (row) => (
        <Anchor component={Link} href={linkTo('payments', row.start, ['SETTLED'])}>
          <span className="visually-hidden">Revenue, {label(row)}: </span>
          {formatUsd(row.revenue.totalUsd)}
        </Anchor>
      ),
    },
    {
      title: 'Payments',
      align: 'right',
      render: (row) => (
        <Counts
          hrefOf={(...statuses) => linkTo('payments', row.start, statuses)}
          status="SETTLED"
          name={`Payments, ${label(row)}`}
          good={`${formatCount(row.revenue.paymentCount)} settled`}
          failedCount={row.revenue.failedCount}
        />
      ),
    },
    {
      title: 'Deliveries',
      align: 'right',
      render: (row) => (
        <Counts
          hrefOf={(...statuses) => linkTo('deliveries', row.deliveries?.start ?? row.start, statuses)}
          status="SUCCEEDED"
          name={`Deliveries, ${label(row)}`}
          good={`${formatCount(row.deliveries?.succeededCount ?? 0)} succeeded`}
          failedCount={row.deliveries?.failedCount ?? 0}
        />
      ),
    },
    {
      title: 'Response time (p50, p95)',
      align: 'right',
      render: ({ deliveries: sent }) => responseTimes(sent),
    },
  ];
  return (
    <Panel flush>
      <details onToggle={(event) => setOpen(event.currentTarget.open)} className="chart-values">
        <summary>
          Values by {UNITS[interval].toLowerCase()}
          <Text span size="xs" c="dimmed" ml="sm">
            {zoneNote(interval, zones.payments, timeZone, now)} The current {UNITS[interval].toLowerCase()} is still
            being counted.
          </Text>
        </summary>
        {isOpen && (
          <DataTable
            caption="Values in the charts"
            columns={columns}
            rows={rows.toReversed()}
            keyOf={({ start }) => start}
            empty={undefined}
          />
        )}
      </details>
    </Panel>
  );
}

function Counts(props: {
  hrefOf(...statuses: string[]): string;
  /** The status of the items that `good` counts. */
  status: string;
  name: string;
  good: string;
  failedCount: number;
}) {
  const { hrefOf, status, name, good, failedCount } = props;
  return (
    <>
      <Anchor component={Link} href={hrefOf(status)}>
        <span className="visually-hidden">{name}: </span>
        {good}
      </Anchor>
      {failedCount > 0 && (
        <>
          {', '}
          <Anchor component={Link} href={hrefOf('FAILED')}>
            <span className="visually-hidden">{name}: </span>
            {formatCount(failedCount)} failed
          </Anchor>
        </>
      )}
    </>
  );
}

function responseTimes(sent: Deliveries | undefined): string {
  const { responseTimeP50Ms: half, responseTimeP95Ms: most } = sent ?? {};
  if (half == null || most == null) return '–';
  return `${formatMilliseconds(half)}, ${formatMilliseconds(most)}`;
}
