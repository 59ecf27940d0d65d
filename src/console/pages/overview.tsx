import { SimpleGrid } from '@mantine/core';
import { useState } from 'react';
import { useQuery } from 'urql';
import { OverviewDocument } from '../../generated/console/overview.ts';
import { toProblem } from '../api/problem.ts';
import { useProject } from '../layout/current-project.tsx';
import { formatCount, formatShare, formatUsdShort } from '../parts/format.ts';
import { Page } from '../parts/page.tsx';
import { PeriodControl, type PeriodName, usePeriod } from '../parts/period.tsx';
import { ProblemNotice } from '../parts/problem-notice.tsx';
import { Stat, Stats } from '../parts/stat.tsx';
import { TopCustomers, TopEndpoints } from './overview-tops.tsx';

export function OverviewPage() {
  const project = useProject();
  const [periodName, setPeriodName] = useState<PeriodName>('30d');
  const { from, interval } = usePeriod(periodName);
  const variables = { projectId: project.id, from, interval, payments: { from } };
  const [{ data, error }, reload] = useQuery({ query: OverviewDocument, variables });
  const revenue = data?.project?.revenue;
  const payments = data?.project?.paymentTotals;
  return (
    <Page title={project.name} actions={<PeriodControl value={periodName} onChange={setPeriodName} />}>
      {error && <ProblemNotice problem={toProblem(error)} onRetry={reload} />}
      <Stats>
        <Stat
          label="Revenue"
          value={revenue && formatUsdShort(revenue.totals.totalUsd)}
          hint={revenue && `${formatCount(revenue.totals.paymentCount)} settled payments`}
        />
        <Stat
          label="Customers"
          value={revenue && formatCount(revenue.totals.customerCount)}
          hint="wallets with a settled payment"
        />
        <Stat
          label="Payments settled"
          value={payments && formatShare(payments.settledCount, payments.settledCount + payments.failedCount)}
          hint={payments && `${formatCount(payments.failedCount)} failed, ${formatCount(payments.openCount)} open`}
        />
      </Stats>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        <TopEndpoints rows={revenue?.topEndpoints} />
        <TopCustomers rows={revenue?.topCustomers} />
      </SimpleGrid>
    </Page>
  );
}
