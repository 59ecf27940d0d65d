import { Anchor, Code, Text } from '@mantine/core';
import { Link, useLocation } from 'wouter';
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

/** `paymentsOf` returns the URL of the list of payments that settled in the period, with one additional filter. */
type Props<Row> = { rows: readonly Row[]; paymentsOf(filter: string, value: string): string };

export function TopEndpoints({ rows, paymentsOf }: Props<Revenue['topEndpoints'][number]>) {
  const [, go] = useLocation();
  const hrefOf = ({ endpointId }: { endpointId: string }) => paymentsOf('endpointId', endpointId);
  return (
    <Panel title="Top endpoints" flush>
      <DataTable<Revenue['topEndpoints'][number]>
        isNarrow
        caption="Endpoints with the highest revenue"
        columns={[
          {
            title: 'Path',
            render: (row) => (
              <Anchor component={Link} href={hrefOf(row)} display="inline-block">
                <span className="visually-hidden">Payments for </span>
                <Code bg="transparent" p={0}>
                  {row.path}
                </Code>
              </Anchor>
            ),
          },
          ...EARNINGS_COLUMNS,
        ]}
        rows={rows}
        keyOf={({ endpointId }) => endpointId}
        onOpen={(row) => go(hrefOf(row))}
        empty={<Nothing>No revenue in this period.</Nothing>}
      />
    </Panel>
  );
}

export function TopCustomers({ rows, paymentsOf }: Props<Revenue['topCustomers'][number]>) {
  const [, go] = useLocation();
  const hrefOf = ({ customerId }: { customerId: string }) => paymentsOf('customerId', customerId);
  return (
    <Panel title="Top customers" flush>
      <DataTable<Revenue['topCustomers'][number]>
        isNarrow
        caption="Customers with the highest spend"
        columns={[
          {
            title: 'Wallet',
            render: (row) => (
              <Anchor component={Link} href={hrefOf(row)} display="inline-block">
                <span className="visually-hidden">Payments from </span>
                <Code bg="transparent" p={0}>
                  {shortenAddress(row.walletAddress)}
                </Code>
              </Anchor>
            ),
          },
          ...EARNINGS_COLUMNS,
        ]}
        rows={rows}
        keyOf={({ customerId }) => customerId}
        onOpen={(row) => go(hrefOf(row))}
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
