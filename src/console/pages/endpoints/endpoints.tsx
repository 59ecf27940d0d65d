import { Anchor, Badge, Button, Code, Group, Text, Tooltip } from '@mantine/core';
import { IconAlertTriangle, IconPlus, IconRoute } from '@tabler/icons-react';
import { Suspense, useState } from 'react';
import { useQuery } from 'urql';
import {
  DeleteEndpointDocument,
  EndpointsDocument,
  UpdateEndpointDocument,
} from '../../../generated/console/endpoints.ts';
import { toProblem } from '../../api/problem.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { ConfirmDialog } from '../../parts/confirm.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { type Column, DataTable, Pager, usePaging } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { formatUsd } from '../../parts/format.ts';
import { lazyPart } from '../../parts/lazy-part.ts';
import { Page, Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { RowMenu } from '../../parts/row-menu.tsx';
import type { EndpointRow } from './rows.ts';

const EndpointForm = lazyPart(() => import('./form.tsx'), 'EndpointForm');
const EndpointPreview = lazyPart(() => import('./preview.tsx'), 'EndpointPreview');

type Opened = { what: 'form'; endpoint?: EndpointRow } | { what: 'preview' | 'delete'; endpoint: EndpointRow };

export function EndpointsPage() {
  const project = useProject();
  const paging = usePaging();
  const [opened, setOpened] = useState<Opened>();
  const variables = { projectId: project.id, ...paging.variables };
  const [{ data, error }, reload] = useQuery({ query: EndpointsDocument, variables });
  const update = useSubmit(UpdateEndpointDocument);
  const refresh = () => reload({ requestPolicy: 'network-only' });
  const close = () => setOpened(undefined);
  const add = (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setOpened({ what: 'form' })}>
      Add endpoint
    </Button>
  );
  const columns: Column<EndpointRow>[] = [
    {
      title: 'Path',
      render: (endpoint) => (
        <Group gap={6} wrap="nowrap">
          <Anchor component="button" type="button" onClick={() => setOpened({ what: 'form', endpoint })}>
            <Code bg="transparent">{endpoint.path}</Code>
          </Anchor>
          {endpoint.warnings.length > 0 && (
            <Tooltip label={endpoint.warnings.join(' ')} multiline maw={320}>
              <IconAlertTriangle
                size={16}
                color="var(--mantine-color-orange-6)"
                aria-label={endpoint.warnings.join(' ')}
              />
            </Tooltip>
          )}
        </Group>
      ),
    },
    { title: 'Price', align: 'right', render: ({ priceUsd }) => formatUsd(priceUsd) },
    {
      title: 'Upstream',
      render: ({ upstreamUrl }) => (
        <Code bg="transparent" style={{ overflowWrap: 'anywhere' }}>
          {upstreamUrl}
        </Code>
      ),
    },
    {
      title: 'Status',
      render: ({ isActive }) => <Badge color={isActive ? 'teal' : 'gray'}>{isActive ? 'Active' : 'Disabled'}</Badge>,
    },
    {
      title: 'Actions',
      align: 'right',
      width: 80,
      render: (endpoint) => (
        <RowMenu
          name={endpoint.path}
          actions={[
            { label: 'Preview as buyer', onClick: () => setOpened({ what: 'preview', endpoint }) },
            { label: 'Edit', onClick: () => setOpened({ what: 'form', endpoint }) },
            {
              label: endpoint.isActive ? 'Disable' : 'Enable',
              onClick: () => update.submit({ input: { id: endpoint.id, isActive: !endpoint.isActive } }),
            },
            { label: 'Delete', onClick: () => setOpened({ what: 'delete', endpoint }), isDangerous: true },
          ]}
        />
      ),
    },
  ];
  return (
    <Page
      title="Endpoints"
      lead="Public paths that charge a price per request and forward paid requests to your API."
      actions={add}
    >
      {error && <ProblemNotice problem={toProblem(error)} onRetry={reload} />}
      {update.problem && <ProblemNotice problem={update.problem} />}
      <Panel flush>
        <DataTable
          caption="Endpoints"
          columns={columns}
          rows={data?.project?.endpoints.nodes ?? (error ? null : undefined)}
          keyOf={({ id }) => id}
          empty={
            <EmptyState icon={IconRoute} title="Create your first paid endpoint" action={add}>
              Choose a public path, the API behind it, and a price per request. The gateway collects the payments.
            </EmptyState>
          }
        />
        <Pager pageInfo={data?.project?.endpoints.pageInfo} paging={paging} />
      </Panel>
      <Suspense>
        {opened?.what === 'form' && (
          <EndpointForm
            {...(opened.endpoint && { endpoint: opened.endpoint })}
            onClose={close}
            onSaved={(endpoint) => {
              refresh();
              setOpened(opened.endpoint ? undefined : { what: 'preview', endpoint });
            }}
          />
        )}
        {opened?.what === 'preview' && <EndpointPreview endpoint={opened.endpoint} onClose={close} />}
      </Suspense>
      {opened?.what === 'delete' && (
        <DeleteEndpoint
          endpoint={opened.endpoint}
          onClose={close}
          onDeleted={() => {
            close();
            refresh();
          }}
        />
      )}
    </Page>
  );
}

function DeleteEndpoint(props: { endpoint: EndpointRow; onClose(): void; onDeleted(): void }) {
  const { endpoint, onClose, onDeleted } = props;
  const { submit, problem, isBusy } = useSubmit(DeleteEndpointDocument);
  return (
    <ConfirmDialog
      isOpen
      title="Delete endpoint"
      action="Delete"
      isBusy={isBusy}
      problem={problem}
      onClose={onClose}
      onConfirm={async () => {
        if (await submit({ input: { id: endpoint.id } })) onDeleted();
      }}
    >
      Buyers who call <Code>{endpoint.path}</Code> will get a 404. Past payments stay in your history.
      <Text size="sm" c="dimmed" mt="xs">
        To stop selling temporarily, disable the endpoint instead.
      </Text>
    </ConfirmDialog>
  );
}
