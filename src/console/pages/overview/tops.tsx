import { Code, Text } from '@mantine/core';
import type { OverviewQuery } from '../../../generated/console/overview.ts';
import { DataTable } from '../../parts/data-table.tsx';
import { formatCount, formatUsd, shortenAddress } from '../../parts/format.ts';
import { Panel } from '../../parts/page.tsx';

type Revenue = NonNullable<OverviewQuery['project']>['revenue'];
type Earned = { paymentCount: number; totalUsd: string };

const EARNED = [
  { title: 'Payments', align: 'right', render: ({ paymentCount }: Earned) => formatCount(paymentCount) },
  { title: 'Revenue', align: 'right', render: ({ totalUsd }: Earned) => formatUsd(totalUsd) },
] as const;

export function TopEndpoints({ rows }: { rows: Revenue['topEndpoints'] | undefined }) {
  return (
    <Panel title="Top endpoints" flush>
      <DataTable<Revenue['topEndpoints'][number]>
        caption="Endpoints that earned most"
        columns={[
          {
            title: 'Path',
            render: ({ path }) => (
              <Code bg="transparent" p={0}>
                {path}
              </Code>
            ),
          },
          ...EARNED,
        ]}
        rows={rows}
        keyOf={({ endpointId }) => endpointId}
        empty={<Nothing>No endpoint has earned anything in this period.</Nothing>}
      />
    </Panel>
  );
}

export function TopCustomers({ rows }: { rows: Revenue['topCustomers'] | undefined }) {
  return (
    <Panel title="Top customers" flush>
      <DataTable<Revenue['topCustomers'][number]>
        caption="Customers who paid most"
        columns={[
          {
            title: 'Wallet',
            render: ({ walletAddress }) => (
              <Code bg="transparent" p={0}>
                {shortenAddress(walletAddress)}
              </Code>
            ),
          },
          ...EARNED,
        ]}
        rows={rows}
        keyOf={({ customerId }) => customerId}
        empty={<Nothing>Nobody has paid in this period.</Nothing>}
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
