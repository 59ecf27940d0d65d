import { SimpleGrid, Skeleton } from '@mantine/core';
import { Suspense, useMemo, useState } from 'react';
import { useQuery } from 'urql';
import {
  OverviewDeliveriesDocument,
  OverviewDocument,
  OverviewPaymentsDocument,
} from '../../../generated/console/overview.ts';
import { toProblem } from '../../api/problem.ts';
import { useProject } from '../../parts/current-project.tsx';
import { useChanges } from '../../parts/follow-changes.ts';
import { formatCount, formatMilliseconds, formatShare, formatUsdShort } from '../../parts/format.ts';
import { lazyPart } from '../../parts/lazy-part.ts';
import { LiveBadge } from '../../parts/live-badge.tsx';
import { Page } from '../../parts/page.tsx';
import { PeriodControl, type PeriodName, usePeriod } from '../../parts/period.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { Stat, Stats } from '../../parts/stat.tsx';
import { NextSteps } from './steps.tsx';
import { TopCustomers, TopEndpoints } from './tops.tsx';

const OverviewCharts = lazyPart(() => import('./charts.tsx'), 'OverviewCharts');

/** A busy project changes all the time, and each refresh counts toward the account's rate limit. */
const REFRESH_MILLISECONDS = 5_000;

export function OverviewPage() {
  const project = useProject();
  const [periodName, setPeriodName] = useState<PeriodName>('30d');
  const { from, interval } = usePeriod(periodName);
  const variables = { projectId: project.id, from, interval, payments: { from } };
  const [{ data, error }, ask] = useQuery({ query: OverviewDocument, variables });
  const reload = () => ask({ requestPolicy: 'network-only' });
  const followed = useMemo(() => ({ projectId: project.id }), [project.id]);
  const state = useChanges(
    OverviewPaymentsDocument,
    followed,
    (update) => update.paymentUpdated?.cursor,
    reload,
    REFRESH_MILLISECONDS,
  );
  useChanges(
    OverviewDeliveriesDocument,
    followed,
    (update) => update.deliveryUpdated?.cursor,
    reload,
    REFRESH_MILLISECONDS,
  );

  const revenue = data?.project?.revenue;
  const payments = data?.project?.paymentTotals;
  const deliveries = data?.project?.deliveryStats;
  return (
    <Page
      title={project.name}
      actions={
        <>
          <LiveBadge state={state} />
          <PeriodControl value={periodName} onChange={setPeriodName} />
        </>
      }
    >
      {error && <ProblemNotice problem={toProblem(error)} onRetry={reload} />}
      {data?.project && <NextSteps project={data.project} />}
      <Stats>
        <Stat
          label="Revenue"
          value={revenue && formatUsdShort(revenue.totals.totalUsd)}
          hint={revenue && settledPayments(revenue.totals.paymentCount)}
        />
        <Stat
          label="Customers"
          value={revenue && formatCount(revenue.totals.customerCount)}
          hint="Wallets with a settled payment"
        />
        <Stat
          label="Payment success rate"
          value={payments && formatShare(payments.settledCount, payments.settledCount + payments.failedCount)}
          hint={payments && `${formatCount(payments.failedCount)} failed, ${formatCount(payments.openCount)} open`}
        />
        <Stat
          label="Delivery success rate"
          value={deliveries && shareOf(deliveries.totals)}
          hint={deliveries && responseTimes(deliveries.totals)}
        />
      </Stats>
      <Suspense fallback={<Skeleton height={520} />}>
        {revenue && deliveries ? (
          <OverviewCharts interval={interval} revenue={revenue.buckets} deliveries={deliveries.buckets} />
        ) : (
          <Skeleton height={520} />
        )}
      </Suspense>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        <TopEndpoints rows={revenue?.topEndpoints} />
        <TopCustomers rows={revenue?.topCustomers} />
      </SimpleGrid>
    </Page>
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
  return `p50 ${formatMilliseconds(half)} · p95 ${formatMilliseconds(most)}`;
}
