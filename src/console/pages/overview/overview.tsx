import { SimpleGrid, Skeleton } from '@mantine/core';
import { Suspense } from 'react';
import { useQuery } from 'urql';
import { DeliveriesCursorDocument, PaymentsCursorDocument } from '../../../generated/console/live.ts';
import {
  OverviewDeliveriesDocument,
  OverviewDocument,
  OverviewPaymentsDocument,
  type OverviewQuery,
  type RevenueInterval,
} from '../../../generated/console/overview.ts';
import { toProblem } from '../../api/problem.ts';
import { useProject } from '../../parts/current-project.tsx';
import { ExportMenu } from '../../parts/export-menu.tsx';
import { useChanges } from '../../parts/follow-changes.ts';
import { formatCount, formatMilliseconds, formatShare, formatUsdShort } from '../../parts/format.ts';
import { lazyPart } from '../../parts/lazy-part.ts';
import { LiveBadge } from '../../parts/live-badge.tsx';
import { Page } from '../../parts/page.tsx';
import { usePeriod } from '../../parts/period.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { Stat, Stats } from '../../parts/stat.tsx';
import { useTimeZone } from '../../parts/time-zone.tsx';
import { useCollected } from '../../parts/use-collected.ts';
import { NextSteps } from './steps.tsx';
import { TopCustomers, TopEndpoints } from './tops.tsx';

const OverviewCharts = lazyPart(() => import('./charts.tsx'), 'OverviewCharts');

/** A busy project changes constantly, and the console's requests are rate limited. */
const REFRESH_MILLISECONDS = 10_000;

export function OverviewPage() {
  const project = useProject();
  const { from, utcFrom, interval, control } = usePeriod(project.timeZone);
  const zone = useTimeZone(project.timeZone);
  const variables = { projectId: project.id, from, utcFrom, interval, payments: { from } };
  const [{ data, error }, ask] = useQuery({ query: OverviewDocument, variables });
  const reload = () => ask({ requestPolicy: 'network-only' });
  const reloadSoon = useCollected(reload, REFRESH_MILLISECONDS);
  const followed = { variables: { projectId: project.id }, onChange: reloadSoon };
  const state = useChanges({
    ...followed,
    cursor: PaymentsCursorDocument,
    document: OverviewPaymentsDocument,
    cursorOf: ({ paymentUpdated }) => paymentUpdated?.cursor,
  });
  useChanges({
    ...followed,
    cursor: DeliveriesCursorDocument,
    document: OverviewDeliveriesDocument,
    cursorOf: ({ deliveryUpdated }) => deliveryUpdated?.cursor,
  });

  return (
    <Page
      title={project.name}
      isAboutMoney
      actions={
        <>
          <LiveBadge state={state} />
          {zone.control}
          {control}
          <ExportMenu what="revenue" filters={{ from, interval }} />
        </>
      }
    >
      {error && <ProblemNotice problem={toProblem(error)} onRetry={reload} />}
      {/* Everything appears at the same time, so nothing shifts while the user is pointing at it. */}
      <Suspense fallback={<Loading />}>
        {data?.project && (
          <Content from={from} utcFrom={utcFrom} interval={interval} timeZone={zone.timeZone} overview={data.project} />
        )}
        {!data && !error && <Loading />}
      </Suspense>
    </Page>
  );
}

function Loading() {
  return <Skeleton height={860} />;
}

type Overview = NonNullable<OverviewQuery['project']>;

function Content(props: {
  from: string;
  utcFrom: string;
  interval: RevenueInterval;
  timeZone: string;
  overview: Overview;
}) {
  const { from, utcFrom, interval, timeZone, overview } = props;
  const { revenue, paymentTotals: payments, deliveryStats: deliveries } = overview;
  const project = useProject();
  const listOf = (list: string, ...filters: [name: string, value: string][]) =>
    `/projects/${project.id}/${list}?${new URLSearchParams(filters)}`;
  const settledOf = (...filters: [name: string, value: string][]) =>
    listOf('payments', ['status', 'SETTLED'], ...filters, ['finishedFrom', from]);
  const paymentsOf = (filter: string, value: string) => settledOf([filter, value]);
  return (
    <>
      <NextSteps project={overview} />
      <Stats>
        <Stat
          label="Revenue"
          href={settledOf()}
          value={formatUsdShort(revenue.totals.totalUsd)}
          hint={settledPayments(revenue.totals.paymentCount)}
        />
        <Stat
          label="Customers"
          href={listOf('customers', ['from', from])}
          value={formatCount(revenue.totals.customerCount)}
          hint="Wallets with a settled payment"
        />
        <Stat
          label="Payment success rate"
          href={listOf('payments', ['from', from])}
          value={formatShare(payments.settledCount, payments.settledCount + payments.failedCount)}
          hint={`${formatCount(payments.failedCount)} failed, ${formatCount(payments.openCount)} open`}
        />
        <Stat
          label="Delivery success rate"
          href={listOf('deliveries', ['status', 'SUCCEEDED'], ['status', 'FAILED'], ['finishedFrom', utcFrom])}
          value={shareOf(deliveries.totals)}
          hint={responseTimes(deliveries.totals)}
        />
      </Stats>
      <OverviewCharts
        interval={interval}
        timeZone={timeZone}
        now={Date.now()}
        revenue={revenue.buckets}
        deliveries={deliveries.buckets}
      />
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        <TopEndpoints rows={revenue.topEndpoints} paymentsOf={paymentsOf} />
        <TopCustomers rows={revenue.topCustomers} paymentsOf={paymentsOf} />
      </SimpleGrid>
    </>
  );
}

function settledPayments(count: number): string {
  return `${formatCount(count)} settled ${count === 1 ? 'payment' : 'payments'}`;
}

function shareOf({ succeededCount, failedCount }: { succeededCount: number; failedCount: number }): string {
  return formatShare(succeededCount, succeededCount + failedCount);
}

function responseTimes(totals: { responseTimeP50Ms?: number | null; responseTimeP95Ms?: number | null }): string {
  const { responseTimeP50Ms: half, responseTimeP95Ms: most } = totals;
  if (half == null || most == null) return 'No deliveries in this period';
  return `p50\u00a0${formatMilliseconds(half)} · p95\u00a0${formatMilliseconds(most)}`;
}
