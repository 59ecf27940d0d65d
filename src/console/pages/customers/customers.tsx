import { Anchor, Code, Group, SegmentedControl } from '@mantine/core';
import { IconUsers } from '@tabler/icons-react';
import { useState } from 'react';
import { useQuery } from 'urql';
import { Link, useLocation } from 'wouter';
import { type CustomerOrder, CustomersDocument, type CustomersQuery } from '../../../generated/console/customers.ts';
import { toProblem } from '../../api/problem.ts';
import { Copy } from '../../parts/copy-button.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { type Column, DataTable, Pager, usePaging } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { formatCount, formatUsd, shortenAddress } from '../../parts/format.ts';
import { Page, Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { Time } from '../../parts/time.tsx';

type Row = NonNullable<CustomersQuery['project']>['customers']['nodes'][number];

export function CustomersPage() {
  const project = useProject();
  const [orderBy, setOrderBy] = useState<CustomerOrder>('LAST_PAYMENT');
  const paging = usePaging();
  const [, go] = useLocation();
  const variables = { projectId: project.id, orderBy, ...paging.variables };
  const [{ data, error }, reload] = useQuery({
    query: CustomersDocument,
    variables,
    requestPolicy: 'cache-and-network',
  });
  const paymentsOf = ({ walletAddress }: Row) => `/projects/${project.id}/payments?payer=${walletAddress}`;
  const columns: Column<Row>[] = [
    {
      title: 'Wallet',
      render: (row) => (
        <Group gap={4} wrap="nowrap">
          <Anchor component={Link} href={paymentsOf(row)}>
            <span className="visually-hidden">Payments from </span>
            <Code bg="transparent">{shortenAddress(row.walletAddress)}</Code>
          </Anchor>
          <Copy value={row.walletAddress} what="wallet address" />
        </Group>
      ),
    },
    { title: 'Payments', align: 'right', render: ({ paymentCount }) => formatCount(paymentCount) },
    { title: 'Total spend', align: 'right', render: ({ totalUsd }) => formatUsd(totalUsd) },
    {
      title: 'First payment',
      align: 'right',
      render: ({ firstPaymentAt }) => firstPaymentAt && <Time iso={firstPaymentAt} />,
    },
    {
      title: 'Last payment',
      align: 'right',
      render: ({ lastPaymentAt }) => lastPaymentAt && <Time iso={lastPaymentAt} />,
    },
  ];
  return (
    <Page
      title="Customers"
      lead="Wallets with at least one settled payment."
      actions={
        <SegmentedControl
          aria-label="Sort by"
          size="xs"
          data={[
            { value: 'LAST_PAYMENT', label: 'Most recent' },
            { value: 'TOTAL', label: 'Highest spend' },
          ]}
          value={orderBy}
          onChange={(value) => {
            paging.reset();
            setOrderBy(value as CustomerOrder);
          }}
        />
      }
    >
      {error && <ProblemNotice problem={toProblem(error)} onRetry={reload} />}
      <Panel flush>
        <DataTable
          caption="Customers"
          columns={columns}
          rows={data?.project?.customers.nodes ?? (error ? null : undefined)}
          keyOf={({ id }) => id}
          onOpen={(row) => go(paymentsOf(row))}
          empty={
            <EmptyState icon={IconUsers} title="No customers yet">
              A wallet appears here after its first payment settles.
            </EmptyState>
          }
        />
        <Pager pageInfo={data?.project?.customers.pageInfo} paging={paging} />
      </Panel>
    </Page>
  );
}
