import { Anchor, Group, Stack, Text } from '@mantine/core';
import { IconCircle, IconCircleCheck } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { OverviewQuery } from '../../../generated/console/overview.ts';
import { Command } from '../../parts/command.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { gatewayAddress } from '../../parts/gateway-address.ts';
import { Panel } from '../../parts/page.tsx';

type Begun = Pick<NonNullable<OverviewQuery['project']>, 'endpoints' | 'payments' | 'webhooks' | 'connectors'>;

/** From an empty project to one that earns, as long as a step is missing. */
export function NextSteps({ project: { endpoints, payments, webhooks, connectors } }: { project: Begun }) {
  const project = useProject();
  const [endpoint] = endpoints.nodes;
  const hasPayment = payments.nodes.length > 0;
  const isTold = webhooks.nodes.length + connectors.nodes.length > 0;
  if (endpoint && hasPayment && isTold) return null;
  const at = (path: string) => `/projects/${project.id}${path}`;
  return (
    <Panel title="Next steps">
      <Stack component="ol" gap="md" m={0} p={0} style={{ listStyle: 'none' }}>
        <Step title="Put a price on a route" isDone={endpoint !== undefined}>
          Say which path buyers call, which URL answers, and what a request costs:{' '}
          <To href={at('/endpoints')}>endpoints</To>.
        </Step>
        <Step title="Be told of every payment" isDone={isTold}>
          By a signed request to a server of yours, a <To href={at('/webhooks')}>webhook</To>, or in Slack, BigQuery and
          other services, by a <To href={at('/connectors')}>connector</To>.
        </Step>
        <Step title="Have a buyer pay" isDone={hasPayment}>
          {endpoint
            ? 'This asks for the terms, as a buyer’s client does before it pays:'
            : 'When there is an endpoint, what to call is shown here. In development this pays some of a sandbox:'}
          <Command>{endpoint ? `curl -i '${gatewayAddress(project, endpoint.path)}'` : 'npm run demo'}</Command>
        </Step>
      </Stack>
    </Panel>
  );
}

function Step({ title, isDone, children }: { title: string; isDone: boolean; children: ReactNode }) {
  return (
    <Group component="li" wrap="nowrap" align="flex-start" gap="sm">
      {isDone ? (
        <IconCircleCheck size={20} color="var(--mantine-color-teal-6)" role="img" aria-label="Done" />
      ) : (
        <IconCircle size={20} color="var(--mantine-color-dimmed)" role="img" aria-label="To do" />
      )}
      <Stack gap={4} flex={1} miw={0}>
        <Text size="sm" fw={600}>
          {title}
        </Text>
        {!isDone && (
          <Text size="sm" c="dimmed" component="div">
            {children}
          </Text>
        )}
      </Stack>
    </Group>
  );
}

function To({ href, children }: { href: string; children: string }) {
  return (
    <Anchor component={Link} href={href} underline="always">
      {children}
    </Anchor>
  );
}
