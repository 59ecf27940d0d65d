import { Anchor, Badge, Button, Code } from '@mantine/core';
import { IconReceipt } from '@tabler/icons-react';
import { Suspense } from 'react';
import { useQuery } from 'urql';
import { Link, useLocation, useParams } from 'wouter';
import { PaymentsCursorDocument } from '../../../generated/console/live.ts';
import {
  type PaymentFilter,
  type PaymentStatus,
  PaymentsDocument,
  PaymentsLiveDocument,
  type PaymentsQuery,
} from '../../../generated/console/payments.ts';
import { Breakable } from '../../parts/breakable.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { type Column, DataTable, Pager } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { ExportMenu } from '../../parts/export-menu.tsx';
import { FilterBar, NoMatches } from '../../parts/filter-bar.tsx';
import { useChanges } from '../../parts/follow-changes.ts';
import { formatCount, formatEnum, formatShare, formatUsd, shortenAddress } from '../../parts/format.ts';
import { useSteps } from '../../parts/item-steps.tsx';
import { lazyPart } from '../../parts/lazy-part.ts';
import { LiveBadge } from '../../parts/live-badge.tsx';
import { Page, Panel } from '../../parts/page.tsx';
import { PAYMENT_STATUS_COLORS } from '../../parts/payment-status.ts';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { Stat, Stats } from '../../parts/stat.tsx';
import { Time } from '../../parts/time.tsx';
import { useListFilters } from '../../parts/use-list-filters.ts';
import { usePaging } from '../../parts/use-paging.ts';
import { useSettings } from '../../session/use-settings.ts';

const PaymentDrawer = lazyPart(() => import('./drawer.tsx'), 'PaymentDrawer');

type Row = NonNullable<PaymentsQuery['project']>['payments']['nodes'][number];

const columns = (pageOf: (id: string) => string): Column<Row>[] => [
  {
    title: 'Status',
    render: ({ id, status }) => (
      <Anchor component={Link} href={pageOf(id)} underline="never" aria-label={`Payment ${id}, ${formatEnum(status)}`}>
        <Badge color={PAYMENT_STATUS_COLORS[status]}>{formatEnum(status)}</Badge>
      </Anchor>
    ),
  },
  { title: 'Amount', align: 'right', render: ({ amountUsd }) => formatUsd(amountUsd) },
  {
    title: 'Request',
    render: ({ method, endpointPath }) => (
      <Code bg="transparent" p={0}>
        {method} <Breakable text={endpointPath} />
      </Code>
    ),
  },
  {
    title: 'Payer',
    render: ({ payer }) => (
      <Code bg="transparent" p={0}>
        {shortenAddress(payer)}
      </Code>
    ),
  },
  {
    title: 'Failure reason',
    render: ({ failureReason }) =>
      failureReason && (
        <Code bg="transparent" p={0}>
          <Breakable text={failureReason} />
        </Code>
      ),
  },
  { title: 'Created', align: 'right', render: ({ createdAt }) => <Time iso={createdAt} /> },
];

const OPEN = (Object.keys(PAYMENT_STATUS_COLORS) as PaymentStatus[]).filter(
  (status) => status !== 'SETTLED' && status !== 'FAILED',
);

export function PaymentsPage() {
  const project = useProject();
  const base = `/projects/${project.id}/payments`;
  const { paymentId } = useParams<{ paymentId?: string }>();
  const [, go] = useLocation();
  const filters = useListFilters<PaymentFilter>('payments');
  const paging = usePaging();
  const { filter } = filters;
  const variables = { projectId: project.id, filter, ...paging.variables };
  const [{ data, error }, reload] = useQuery({ query: PaymentsDocument, variables });
  const live = useChanges({
    cursor: PaymentsCursorDocument,
    document: PaymentsLiveDocument,
    variables: { projectId: project.id, filter },
    cursorOf: ({ paymentUpdated }) => paymentUpdated?.cursor,
    onChange: () => reload({ requestPolicy: 'network-only' }),
  });
  const totals = data?.project?.paymentTotals;
  const pageOf = (id: string) => filters.keepIn(`${base}/${id}`);
  /** Links a card to the payments that it counts, which match the current filters. */
  function listOf(statuses: readonly PaymentStatus[]): { href?: string } {
    const counted = statuses.filter((status) => filters.values.status?.includes(status) ?? true);
    if (counted.length === 0) return {};
    const values = Object.entries({ ...filters.values, status: counted });
    const pairs = values.flatMap(([name, selected]) => selected.map((value) => [name, value]));
    return { href: `${base}?${new URLSearchParams(pairs)}` };
  }
  const { atFilters, problem } = filters.split(error);
  const payments = data?.project?.payments;
  const steps = useSteps({
    ids: payments?.nodes.map(({ id }) => id) ?? [],
    openId: paymentId,
    pageInfo: payments?.pageInfo,
    paging,
    onOpen: (id) => go(pageOf(id), { replace: true }),
  });
  return (
    <Page
      title="Payments"
      isAboutMoney
      lead="Every payment attempt and its outcome."
      actions={
        <>
          <LiveBadge state={live} />
          <ExportMenu what="payments" filters={filters.exported} />
        </>
      }
    >
      {problem && <ProblemNotice problem={problem} onRetry={reload} />}
      <Stats>
        <Stat label="Settled amount" {...listOf(['SETTLED'])} value={totals && formatUsd(totals.settledUsd)} />
        <Stat label="Payments" value={totals && formatCount(totals.paymentCount)} />
        <Stat
          label="Success rate"
          {...listOf(['SETTLED', 'FAILED'])}
          value={totals && formatShare(totals.settledCount, totals.settledCount + totals.failedCount)}
          hint={totals && `${formatCount(totals.failedCount)} failed`}
        />
        <Stat
          label="Open"
          {...listOf(OPEN)}
          value={totals && formatCount(totals.openCount)}
          hint="Neither settled nor failed yet"
        />
      </Stats>
      <Panel flush>
        <FilterBar filters={filters} errors={atFilters} />
        <DataTable
          caption="Payments"
          columns={columns(pageOf)}
          rows={payments?.nodes ?? (error ? null : undefined)}
          keyOf={({ id }) => id}
          onOpen={({ id }) => go(pageOf(id))}
          empty={
            <NoMatches what="payments" filters={filters}>
              <NoPayments projectId={project.id} />
            </NoMatches>
          }
        />
        <Pager pageInfo={payments?.pageInfo} paging={paging} />
      </Panel>
      <Suspense>
        {paymentId && <PaymentDrawer paymentId={paymentId} steps={steps} onClose={() => go(filters.keepIn(base))} />}
      </Suspense>
    </Page>
  );
}

function NoPayments({ projectId }: { projectId: string }) {
  const hasTestPayments = useSettings()?.hasTestPayments;
  return (
    <EmptyState
      icon={IconReceipt}
      title="No payments yet"
      action={
        <Button component={Link} href={`/projects/${projectId}/endpoints`} variant="default">
          Open endpoints
        </Button>
      }
    >
      Payments appear here as buyers call your endpoints.
      {hasTestPayments && ' To make a test payment, choose “Preview as buyer” in an endpoint’s menu.'}
    </EmptyState>
  );
}
