import { Anchor, Badge, Code, Group, Select } from '@mantine/core';
import { IconReceipt } from '@tabler/icons-react';
import { Suspense, useMemo } from 'react';
import { useQuery } from 'urql';
import { Link, useLocation, useParams, useSearchParams } from 'wouter';
import {
  type PaymentStatus,
  PaymentsDocument,
  PaymentsLiveDocument,
  type PaymentsQuery,
} from '../../../generated/console/payments.ts';
import { toProblem } from '../../api/problem.ts';
import { useProject } from '../../parts/current-project.tsx';
import { type Column, DataTable, Pager, usePaging } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { useChanges } from '../../parts/follow-changes.ts';
import { formatCount, formatEnum, formatShare, formatUsd, formatUsdShort, shortenAddress } from '../../parts/format.ts';
import { lazyPart } from '../../parts/lazy-part.ts';
import { LiveBadge } from '../../parts/live-badge.tsx';
import { Page, Panel } from '../../parts/page.tsx';
import { PAYMENT_STATUS_COLORS } from '../../parts/payment-status.ts';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { Stat, Stats } from '../../parts/stat.tsx';
import { Time } from '../../parts/time.tsx';

const PaymentDrawer = lazyPart(() => import('./drawer.tsx'), 'PaymentDrawer');

type Row = NonNullable<PaymentsQuery['project']>['payments']['nodes'][number];

const STATUSES = Object.keys(PAYMENT_STATUS_COLORS) as PaymentStatus[];

const columns = (base: string): Column<Row>[] => [
  {
    title: 'Status',
    render: ({ id, status }) => (
      <Anchor component={Link} href={`${base}/${id}`} underline="never" aria-label={`Payment ${id}, ${status}`}>
        <Badge color={PAYMENT_STATUS_COLORS[status]}>{formatEnum(status)}</Badge>
      </Anchor>
    ),
  },
  { title: 'Amount', align: 'right', render: ({ amountUsd }) => formatUsd(amountUsd) },
  {
    title: 'Request',
    render: ({ method, endpointPath }) => (
      <Code bg="transparent">
        {method} {endpointPath}
      </Code>
    ),
  },
  { title: 'Payer', render: ({ payer }) => <Code bg="transparent">{shortenAddress(payer)}</Code> },
  {
    title: 'Failure reason',
    render: ({ failureReason }) => failureReason && <Code bg="transparent">{failureReason}</Code>,
  },
  { title: 'Created', align: 'right', render: ({ createdAt }) => <Time iso={createdAt} /> },
];

export function PaymentsPage() {
  const project = useProject();
  const base = `/projects/${project.id}/payments`;
  const { paymentId } = useParams<{ paymentId?: string }>();
  const [search, setSearch] = useSearchParams();
  const [, go] = useLocation();
  const status = search.get('status') as PaymentStatus | null;
  const payer = search.get('payer');
  const filter = useMemo(() => ({ ...(status && { status: [status] }), ...(payer && { payer }) }), [status, payer]);
  const paging = usePaging();
  const variables = { projectId: project.id, filter, ...paging.variables };
  const [{ data, error }, reload] = useQuery({ query: PaymentsDocument, variables });
  const live = useChanges(
    PaymentsLiveDocument,
    useMemo(() => ({ projectId: project.id, filter }), [project.id, filter]),
    ({ paymentUpdated }) => paymentUpdated?.cursor,
    () => reload({ requestPolicy: 'network-only' }),
  );
  const totals = data?.project?.paymentTotals;
  const setFilter = (name: string, value: string | null) => {
    paging.reset();
    setSearch((current) => {
      if (value) current.set(name, value);
      else current.delete(name);
      return current;
    });
  };
  return (
    <Page title="Payments" lead="Every payment attempt and its outcome." actions={<LiveBadge state={live} />}>
      {error && <ProblemNotice problem={toProblem(error)} onRetry={reload} />}
      <Stats>
        <Stat label="Settled amount" value={totals && formatUsdShort(totals.settledUsd)} />
        <Stat label="Payments" value={totals && formatCount(totals.paymentCount)} />
        <Stat
          label="Success rate"
          value={totals && formatShare(totals.settledCount, totals.settledCount + totals.failedCount)}
          hint={totals && `${formatCount(totals.failedCount)} failed`}
        />
        <Stat label="Open" value={totals && formatCount(totals.openCount)} hint="Neither settled nor failed yet" />
      </Stats>
      <Panel flush>
        <Group gap="sm" p="md">
          <Select
            aria-label="Status"
            placeholder="All statuses"
            size="xs"
            w={160}
            clearable
            data={STATUSES.map((value) => ({ value, label: formatEnum(value) }))}
            value={status}
            onChange={(value) => setFilter('status', value)}
          />
          {payer && (
            <Badge
              component="button"
              type="button"
              onClick={() => setFilter('payer', null)}
              style={{ cursor: 'pointer' }}
            >
              Payer {shortenAddress(payer)} ×
            </Badge>
          )}
        </Group>
        <DataTable
          caption="Payments"
          columns={columns(base)}
          rows={data?.project?.payments.nodes ?? (error ? null : undefined)}
          keyOf={({ id }) => id}
          onOpen={({ id }) => go(`${base}/${id}`)}
          empty={
            <EmptyState
              icon={IconReceipt}
              title={status || payer ? 'No matching payments' : 'No payments yet'}
              {...(!status && !payer && { command: 'npm run demo' })}
            >
              {status || payer
                ? 'Change or clear the filters.'
                : 'Payments appear here as buyers call your endpoints. To try this with test money, run:'}
            </EmptyState>
          }
        />
        <Pager pageInfo={data?.project?.payments.pageInfo} paging={paging} />
      </Panel>
      <Suspense>{paymentId && <PaymentDrawer paymentId={paymentId} onClose={() => go(base)} />}</Suspense>
    </Page>
  );
}
