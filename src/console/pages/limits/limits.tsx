import { Progress, Table, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useQuery } from 'urql';
import { LimitsDocument, type Tier } from '../../../generated/console/limits.ts';
import { type Api, useApi } from '../../api/client.ts';
import { toProblem } from '../../api/problem.ts';
import { formatCount, formatEnum } from '../../parts/format.ts';
import { Page, Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { Stat, Stats } from '../../parts/stat.tsx';

const TIERS: readonly { tier: Tier; requestsPerMinute: string; connectors: string; webhooks: string }[] = [
  { tier: 'STARTER', requestsPerMinute: '60', connectors: '0', webhooks: '10' },
  { tier: 'PRO', requestsPerMinute: '300', connectors: '5', webhooks: '50' },
  { tier: 'BUSINESS', requestsPerMinute: '1,000', connectors: '15', webhooks: '200' },
  { tier: 'ENTERPRISE', requestsPerMinute: 'Custom', connectors: 'Unlimited', webhooks: 'Unlimited' },
];

export function LimitsPage() {
  const [{ data, error }, reload] = useQuery({ query: LimitsDocument, requestPolicy: 'cache-and-network' });
  const left = useRequestsLeft();
  const viewer = data?.viewer;
  const limits = viewer?.limits;
  const isUnlimited = limits?.maxConnectors === null;
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
          hint={limits && (isUnlimited ? 'No limit' : `of ${formatCount(limits.maxConnectors ?? 0)}`)}
        />
        <Stat
          label="Webhooks"
          value={
            limits && (limits.maxWebhooksPerProject === null ? 'Unlimited' : formatCount(limits.maxWebhooksPerProject))
          }
          hint="Per project"
        />
      </Stats>
      {limits && limits.maxConnectors !== null && limits.maxConnectors > 0 && (
        <Panel title="Connectors in use">
          <Progress
            value={(limits.connectorCount / limits.maxConnectors) * 100}
            color={limits.connectorCount >= limits.maxConnectors ? 'red' : 'indigo'}
            aria-label={`${limits.connectorCount} of ${limits.maxConnectors} connectors in use`}
          />
        </Panel>
      )}
      <Panel title="Tiers" flush>
        <Table>
          <caption className="visually-hidden">Limits by tier</caption>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Tier</Table.Th>
              <Table.Th ta="right">Requests per minute</Table.Th>
              <Table.Th ta="right">Connectors</Table.Th>
              <Table.Th ta="right">Webhooks per project</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {TIERS.map(({ tier, requestsPerMinute, connectors, webhooks }) => (
              <Table.Tr key={tier} fw={tier === viewer?.tier ? 600 : undefined}>
                <Table.Td>
                  {formatEnum(tier)}
                  {tier === viewer?.tier && ' (yours)'}
                </Table.Td>
                <Table.Td ta="right">{requestsPerMinute}</Table.Td>
                <Table.Td ta="right">{connectors}</Table.Td>
                <Table.Td ta="right">{webhooks}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Panel>
      <Text size="sm" c="dimmed">
        If your account has a limit, API responses have RateLimit and RateLimit-Policy headers, which tell you how many
        requests you have left. Requests over the limit fail with status 429 and a Retry-After header.
      </Text>
    </Page>
  );
}

/** The number of requests left right now, or “Unlimited”. Finding out uses up one request. */
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
