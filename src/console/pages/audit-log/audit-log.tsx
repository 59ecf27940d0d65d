import { Badge, Code, Group, Text } from '@mantine/core';
import { IconHistory } from '@tabler/icons-react';
import { useQuery } from 'urql';
import { AuditLogDocument, type AuditLogQuery } from '../../../generated/console/audit-log.ts';
import { toProblem } from '../../api/problem.ts';
import { Copy } from '../../parts/copy-button.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { type Column, DataTable, Pager, usePaging } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { formatAuditAction } from '../../parts/format.ts';
import { Page, Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { Time } from '../../parts/time.tsx';

type Row = NonNullable<AuditLogQuery['project']>['auditLog']['nodes'][number];

const COLUMNS: readonly Column<Row>[] = [
  { title: 'Time', render: ({ createdAt }) => <Time iso={createdAt} /> },
  {
    title: 'Actor',
    render: ({ actorKind, actorName }) => (
      <Group gap={6} wrap="nowrap">
        <Text size="sm">{actorName}</Text>
        {actorKind === 'API_KEY' && <Badge color="gray">API key</Badge>}
      </Group>
    ),
  },
  { title: 'Action', render: ({ action }) => <Badge color="indigo">{formatAuditAction(action)}</Badge> },
  {
    title: 'Resource',
    render: ({ targetId }) => (
      <Group gap={4} wrap="nowrap">
        <Code bg="transparent">{targetId}</Code>
        <Copy value={targetId} what="resource ID" />
      </Group>
    ),
  },
  {
    title: 'Changes',
    render: ({ changes }) => (
      <Code bg="transparent" p={0} style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
        {JSON.stringify(changes)}
      </Code>
    ),
  },
];

export function AuditLogPage() {
  const project = useProject();
  const paging = usePaging();
  const variables = { projectId: project.id, ...paging.variables };
  const [{ data, error }, reload] = useQuery({
    query: AuditLogDocument,
    variables,
    requestPolicy: 'cache-and-network',
  });
  return (
    <Page
      title="Audit log"
      lead="A permanent record of who changed what. Entries are kept even after the resource is deleted."
    >
      {error && <ProblemNotice problem={toProblem(error)} onRetry={reload} />}
      <Panel flush>
        <DataTable
          caption="Audit log"
          columns={COLUMNS}
          rows={data?.project?.auditLog.nodes ?? (error ? null : undefined)}
          keyOf={({ id }) => id}
          empty={
            <EmptyState icon={IconHistory} title="No changes yet">
              Changes to the project and its resources appear here, with the user or API key that made them.
            </EmptyState>
          }
        />
        <Pager pageInfo={data?.project?.auditLog.pageInfo} paging={paging} />
      </Panel>
    </Page>
  );
}
