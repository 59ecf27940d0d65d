import { Progress, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useQuery } from 'urql';
import { LimitsDocument, type Tier } from '../../../generated/console/limits.ts';
import { type Api, useApi } from '../../api/client.ts';
import { toProblem } from '../../api/problem.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { formatCount, formatEnum } from '../../parts/format.ts';
import { Page, Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { Stat, Stats } from '../../parts/stat.tsx';
import { AccountActivity } from './account-activity.tsx';

type TierLimits = { tier: Tier; requestsPerMinute: string; connectors: string; webhooks: string };

const TIERS: readonly TierLimits[] = [
  { tier: 'STARTER', requestsPerMinute: '60', connectors: '0', webhooks: '10' },
  { tier: 'PRO', requestsPerMinute: '300', connectors: '5', webhooks: '50' },
  { tier: 'BUSINESS', requestsPerMinute: '1,000', connectors: '15', webhooks: '200' },
  { tier: 'ENTERPRISE', requestsPerMinute: 'Custom', connectors: 'Unlimited', webhooks: 'Unlimited' },
];

const columnsOf = (own: Tier | undefined): readonly Column<TierLimits>[] => [
  {
    title: 'Tier',
    render: ({ tier }) => (tier === own ? <strong>{formatEnum(tier)} (yours)</strong> : formatEnum(tier)),
  },
  { title: 'Requests per minute', align: 'right', render: ({ requestsPerMinute }) => requestsPerMinute },
  { title: 'Connectors', align: 'right', render: ({ connectors }) => connectors },
  { title: 'Webhooks per project', align: 'right', render: ({ webhooks }) => webhooks },
];

export function LimitsPage() {
  const [{ data, error }, reload] = useQuery({ query: LimitsDocument, requestPolicy: 'cache-and-network' });
  const left = useRequestsLeft();
  const viewer = data?.viewer;
  const limits = viewer?.limits;
  return (
    <Page title="Limits & usage" lead="What your account can use across all projects.">
      {error && <ProblemNotice problem={toProblem(error)} onRetry={reload} />}
      <Stats>
        <Stat label="Tier" value={viewer ? formatEnum(viewer.tier) : undefined} />
        <Stat
          label="Requests per minute"
          value={limits && (limits.requestsPerMinute === null ? 'Unlimited' : formatCount(limits.requestsPerMinute))}
          hint="Shared by all users and API keys in the account"
        />
        <Stat label="Remaining" value={left} hint="Refills continuously" />
        <Stat
          label="Connectors"
          value={limits && formatCount(limits.connectorCount)}
          hint={limits && <ConnectorLimit {...limits} />}
        />
        <Stat
          label="Webhooks"
          value={
            limits && (limits.maxWebhooksPerProject === null ? 'Unlimited' : formatCount(limits.maxWebhooksPerProject))
          }
          hint="Per project"
        />
      </Stats>
      <Panel title="Tiers" flush>
        <DataTable
          isNarrow
          caption="Limits by tier"
          columns={columnsOf(viewer?.tier)}
          rows={TIERS}
          keyOf={({ tier }) => tier}
          empty={undefined}
        />
      </Panel>
      <AccountActivity />
      <Text size="sm" c="dimmed">
        If your account has a limit, API responses have RateLimit and RateLimit-Policy headers, which tell you how many
        requests you have left. Requests over the limit fail with status 429 and a Retry-After header. Viewing pages in
        the console doesn’t count toward the limit.
      </Text>
    </Page>
  );
}

/** How many connectors the tier includes, as a number and as a bar. */
function ConnectorLimit({ connectorCount, maxConnectors }: { connectorCount: number; maxConnectors: number | null }) {
  if (maxConnectors === null) return 'No limit';
  return (
    <>
      of {formatCount(maxConnectors)}
      {maxConnectors > 0 && (
        <Progress
          mt={4}
          size="sm"
          value={(connectorCount / maxConnectors) * 100}
          color={connectorCount >= maxConnectors ? 'red' : 'indigo'}
          aria-label={`${connectorCount} of ${maxConnectors} connectors in use`}
        />
      )}
    </>
  );
}

/** The number of requests left right now, or “Unlimited”. Checking this uses one request. */
function useRequestsLeft(): string | undefined {
  const api = useApi();
  const [left, setLeft] = useState<string>();
  useEffect(() => {
    readRequestsLeft(api).then(setLeft, () => setLeft('–'));
  }, [api]);
  return left;
}

/** Reads the header `RateLimit: "default";r=299;t=1`, which is missing from responses for tiers without a limit. */
async function readRequestsLeft(api: Api): Promise<string> {
  const response = await api.request('/api/projects?limit=1');
  // An unread body would keep the connection open.
  await response.text();
  const [, left] = /;r=(\d+)/.exec(response.headers.get('RateLimit') ?? '') ?? [];
  return left === undefined ? 'Unlimited' : formatCount(Number(left));
}
