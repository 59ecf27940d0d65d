import { Anchor, Badge, Code, Group } from '@mantine/core';
import { IconUsers } from '@tabler/icons-react';
import { useQuery } from 'urql';
import { Link, useLocation } from 'wouter';
import { AllowBuyerDocument, DenyBuyerDocument } from '../../../generated/console/buyers.ts';
import {
  type CustomerFilter,
  type CustomerOrder,
  CustomersDocument,
  type CustomersQuery,
} from '../../../generated/console/customers.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { Copy } from '../../parts/copy-button.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { type Column, DataTable, Pager } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { ExportMenu } from '../../parts/export-menu.tsx';
import { FilterBar, NoMatches } from '../../parts/filter-bar.tsx';
import { formatCount, formatUsd, shortenAddress } from '../../parts/format.ts';
import { Page, Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { RowMenu } from '../../parts/row-menu.tsx';
import { Stat, Stats } from '../../parts/stat.tsx';
import { Time } from '../../parts/time.tsx';
import { showDone, showFailure } from '../../parts/toast.tsx';
import { useListFilters } from '../../parts/use-list-filters.ts';
import { usePaging } from '../../parts/use-paging.ts';

type Project = NonNullable<CustomersQuery['project']>;
type Row = Project['customers']['nodes'][number];

export function CustomersPage() {
  const project = useProject();
  const filters = useListFilters<CustomerFilter>('customers');
  const paging = usePaging();
  const [, go] = useLocation();
  const [orderBy] = filters.values.orderBy ?? [];
  const variables = {
    projectId: project.id,
    filter: filters.filter,
    ...(orderBy && { orderBy: orderBy as CustomerOrder }),
    ...paging.variables,
  };
  const [{ data, error }, reload] = useQuery({
    query: CustomersDocument,
    variables,
    requestPolicy: 'cache-and-network',
  });
  const { atFilters, problem } = filters.split(error);
  const totals = data?.project?.customerTotals;
  const settled = `/projects/${project.id}/payments?status=SETTLED`;
  const paymentsOf = ({ walletAddress }: Row) => `${settled}&payer=${walletAddress}`;
  // Payments can't be filtered by what is known about customers.
  const all = filters.isFiltered ? {} : { href: settled };
  const rules = data?.project?.buyerRules;
  const isRefused = (row: Row) => rules !== undefined && refuses(rules, row);
  const denial = useSubmit(DenyBuyerDocument);
  const allowance = useSubmit(AllowBuyerDocument);
  async function setAccess({ walletAddress }: Row, isAllowed: boolean): Promise<void> {
    const input = { projectId: project.id, walletAddress };
    const failure = await (isAllowed ? allowance : denial).attempt({ input });
    if (failure) showFailure(isAllowed ? 'Allowing the wallet failed' : 'Denying the wallet failed', failure);
    else showDone(`${shortenAddress(walletAddress)} ${isAllowed ? 'can pay again' : 'can’t pay anymore'}`);
  }
  const columns: Column<Row>[] = [
    {
      title: 'Wallet',
      render: (row) => (
        <Group gap={4} wrap="nowrap">
          <Anchor component={Link} href={paymentsOf(row)}>
            <span className="visually-hidden">Payments from </span>
            <Code bg="transparent" p={0}>
              {shortenAddress(row.walletAddress)}
            </Code>
          </Anchor>
          <Copy value={row.walletAddress} what="wallet address" />
          {isRefused(row) && <Badge color="gray">Can’t pay</Badge>}
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
    {
      title: 'Actions',
      align: 'right',
      width: 80,
      render: (row) => (
        <RowMenu
          name={row.walletAddress}
          actions={[
            isRefused(row)
              ? { label: 'Allow', lowest: 'DEVELOPER', onClick: () => void setAccess(row, true) }
              : { label: 'Deny', lowest: 'DEVELOPER', onClick: () => void setAccess(row, false), isDangerous: true },
          ]}
        />
      ),
    },
  ];
  return (
    <Page
      title="Customers"
      isAboutMoney
      lead="Wallets with at least one settled payment."
      actions={<ExportMenu what="customers" filters={filters.exported} />}
    >
      {problem && <ProblemNotice problem={problem} onRetry={reload} />}
      <Stats>
        <Stat label="Customers" value={totals && formatCount(totals.customerCount)} />
        <Stat label="Settled payments" {...all} value={totals && formatCount(totals.paymentCount)} />
        <Stat label="Total spend" {...all} value={totals && formatUsd(totals.totalUsd)} />
      </Stats>
      <Panel flush>
        <FilterBar filters={filters} errors={atFilters} />
        <DataTable
          caption="Customers"
          columns={columns}
          rows={data?.project?.customers.nodes ?? (error ? null : undefined)}
          keyOf={({ id }) => id}
          onOpen={(row) => go(paymentsOf(row))}
          empty={
            <NoMatches what="customers" filters={filters}>
              <EmptyState icon={IconUsers} title="No customers yet">
                A wallet appears here after its first payment settles.
              </EmptyState>
            </NoMatches>
          }
        />
        <Pager pageInfo={data?.project?.customers.pageInfo} paging={paging} />
      </Panel>
    </Page>
  );
}

/** Whether the gateway refuses a customer's payments. */
function refuses({ allowedWallets, deniedWallets }: Project['buyerRules'], { walletAddress }: Row): boolean {
  if (deniedWallets.includes(walletAddress)) return true;
  return allowedWallets.length > 0 && !allowedWallets.includes(walletAddress);
}
