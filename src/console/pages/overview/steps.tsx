import { Anchor, Code, Group, Stack, Text } from '@mantine/core';
import { IconCircle, IconCircleCheck } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { OverviewQuery } from '../../../generated/console/overview.ts';
import { useProject } from '../../parts/current-project.tsx';
import { docsUrl } from '../../parts/docs-link.ts';
import { gatewayAddress } from '../../parts/gateway-address.ts';
import { Panel } from '../../parts/page.tsx';
import { useSettings } from '../../session/use-settings.ts';

type Progress = Pick<NonNullable<OverviewQuery['project']>, 'endpoints' | 'payments' | 'webhooks' | 'connectors'>;

/** The steps from an empty project to the first payment. Hidden once they are all done. */
export function NextSteps({ project: { endpoints, payments, webhooks, connectors } }: { project: Progress }) {
  const project = useProject();
  const hasTestPayments = useSettings()?.hasTestPayments;
  const [endpoint] = endpoints.nodes;
  const hasPayment = payments.nodes.length > 0;
  const isNotified = webhooks.nodes.length + connectors.nodes.length > 0;
  if (endpoint && hasPayment && isNotified) return null;
  const at = (path: string) => `/projects/${project.id}${path}`;
  return (
    <Panel title="Next steps">
      <Stack component="ol" gap="md" m={0} p={0} style={{ listStyle: 'none' }}>
        <Step title="Create a paid endpoint" isDone={endpoint !== undefined}>
          In <PageLink href={at('/endpoints')}>Endpoints</PageLink>, choose a public path, the API behind it, and a
          price per request.
        </Step>
        <Step title="Get notified about payments" isDone={isNotified}>
          Send events to your server with a <PageLink href={at('/webhooks')}>webhook</PageLink>, or to Slack, BigQuery,
          and other services with a <PageLink href={at('/connectors')}>connector</PageLink>.
        </Step>
        <Step title="Make a test payment" isDone={hasPayment}>
          {!endpoint && 'After you create an endpoint, this step shows how to pay for a request.'}
          {endpoint && hasTestPayments && (
            <>
              In <PageLink href={at('/endpoints')}>Endpoints</PageLink>, open the menu of {endpoint.path}, choose
              “Preview as buyer”, and then “Make a test payment”.
            </>
          )}
          {endpoint && !hasTestPayments && (
            <>
              With{' '}
              <Anchor href={docsUrl('buyers')} target="_blank" rel="noopener" underline="always">
                a buyer’s client
              </Anchor>
              , pay for a request to <Code>{gatewayAddress(project, endpoint.path)}</Code>.
            </>
          )}
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

function PageLink({ href, children }: { href: string; children: string }) {
  return (
    <Anchor component={Link} href={href} underline="always">
      {children}
    </Anchor>
  );
}
