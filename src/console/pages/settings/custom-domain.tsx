import { Alert, Badge, Button, Code, Group, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useQuery } from 'urql';
import {
  type CustomDomainFragment,
  GatewayHostStatusDocument,
  VerifyGatewayHostDocument,
} from '../../../generated/console/settings.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { Copy } from '../../parts/copy-button.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { Facts } from '../../parts/facts.tsx';
import { Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { Time } from '../../parts/time.tsx';

const STATUSES = {
  PENDING: ['Not verified yet', 'yellow'],
  ACTIVE: ['Active', 'teal'],
  FAILING: ['Failing', 'red'],
} as const;

/** The custom domain's status, and the record to publish. Shows nothing if the project has no custom domain. */
export function CustomDomain() {
  const { id } = useProject();
  const [{ data }] = useQuery({
    query: GatewayHostStatusDocument,
    variables: { id },
    requestPolicy: 'cache-and-network',
  });
  const { submit, problem, isBusy } = useSubmit(VerifyGatewayHostDocument);
  const shown = data?.project?.gatewayHostStatus;
  if (!shown) return null;
  const [word, color] = STATUSES[shown.status];
  return (
    <Panel title="Custom domain">
      <Group gap="sm">
        <Text fw={600}>{shown.host}</Text>
        <Badge color={color}>{word}</Badge>
      </Group>
      <Advice domain={shown} />
      {shown.problem && (
        <Alert color="orange" icon={<IconAlertTriangle size={18} />} title="The last check failed">
          {shown.problem}
        </Alert>
      )}
      {problem && <ProblemNotice problem={problem} />}
      <Facts
        rows={[
          ['TXT record', shown.dnsRecord && <Copied value={shown.dnsRecord.name} what="record name" />],
          ['Value', shown.dnsRecord && <Copied value={shown.dnsRecord.value} what="record value" />],
          ['Or respond at', shown.httpChallenge && <Copied value={shown.httpChallenge.url} what="challenge URL" />],
          ['with this body', shown.httpChallenge && <Copied value={shown.httpChallenge.body} what="challenge body" />],
          ['Last checked', shown.lastCheckedAt && <Time iso={shown.lastCheckedAt} />],
          ['Next check', shown.nextCheckAt && <Time iso={shown.nextCheckAt} />],
          ['Failing since', shown.failingSince && <Time iso={shown.failingSince} />],
        ]}
      />
      {shown.dnsRecord && (
        <Group>
          <Button variant="light" loading={isBusy} onClick={() => submit({ input: { projectId: id } })}>
            Check now
          </Button>
        </Group>
      )}
    </Panel>
  );
}

function Advice({ domain: { status, activeHost, dnsRecord } }: { domain: CustomDomainFragment }) {
  if (!dnsRecord) return <Hint>This is a development domain, so it doesn’t need to be verified.</Hint>;
  if (status === 'ACTIVE') return <Hint>Keep the record, or keep the domain pointed at the gateway.</Hint>;
  const now = activeHost ? ` Until then, buyers use ${activeHost}.` : '';
  if (status === 'PENDING')
    return (
      <Hint>{`Add this record to verify that you own the domain. Then point the domain at the gateway.${now}`}</Hint>
    );
  return (
    <Hint>
      Add this record again, or point the domain at the gateway. After a week of failures, you lose the domain.
    </Hint>
  );
}

function Hint({ children }: { children: string }) {
  return (
    <Text size="sm" c="dimmed">
      {children}
    </Text>
  );
}

function Copied({ value, what }: { value: string; what: string }) {
  return (
    <Group gap={4} wrap="nowrap">
      <Code style={{ overflowWrap: 'anywhere' }}>{value}</Code>
      <Copy value={value} what={what} />
    </Group>
  );
}
