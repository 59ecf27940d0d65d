import { Code, Text } from '@mantine/core';
import type { OverviewQuery } from '../../../generated/console/overview.ts';
import { DataTable } from '../../parts/data-table.tsx';
import { formatCount, formatUsd, shortenAddress } from '../../parts/format.ts';
import { Panel } from '../../parts/page.tsx';

type Revenue = NonNullable<OverviewQuery['project']>['revenue'];
type Earnings = { paymentCount: number; totalUsd: string };

const EARNINGS_COLUMNS = [
  { title: 'Payments', align: 'right', render: ({ paymentCount }: Earnings) => formatCount(paymentCount) },
  { title: 'Revenue', align: 'right', render: ({ totalUsd }: Earnings) => formatUsd(totalUsd) },
] as const;

export function TopEndpoints({ rows }: { rows: Revenue['topEndpoints'] | undefined }) {
  return (
    <Panel title="Top endpoints" flush>
      <DataTable<Revenue['topEndpoints'][number]>
        caption="Endpoints with the highest revenue"
        columns={[
          {
            title: 'Path',
            render: ({ path }) => (
              <Code bg="transparent" p={0}>
                {path}
              </Code>
            ),
          },
          ...EARNINGS_COLUMNS,
        ]}
        rows={rows}
        keyOf={({ endpointId }) => endpointId}
        empty={<Nothing>No revenue in this period.</Nothing>}
      />
    </Panel>
  );
}

export function TopCustomers({ rows }: { rows: Revenue['topCustomers'] | undefined }) {
  return (
    <Panel title="Top customers" flush>
      <DataTable<Revenue['topCustomers'][number]>
        caption="Customers with the highest spend"
        columns={[
          {
            title: 'Wallet',
            render: ({ walletAddress }) => (
              <Code bg="transparent" p={0}>
                {shortenAddress(walletAddress)}
              </Code>
            ),
          },
          ...EARNINGS_COLUMNS,
        ]}
        rows={rows}
        keyOf={({ customerId }) => customerId}
        empty={<Nothing>No payments in this period.</Nothing>}
      />
    </Panel>
  );
}

function Nothing({ children }: { children: string }) {
  return (
    <Text size="sm" c="dimmed" px="md" pb="md">
      {children}
    </Text>
  );
}
