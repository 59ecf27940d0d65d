import { Anchor, Badge, Button, Code, Group, Text } from '@mantine/core';
import { IconFileImport, IconPlus, IconRoute } from '@tabler/icons-react';
import { Suspense, useState } from 'react';
import { useQuery } from 'urql';
import { useLocation, useParams } from 'wouter';
import {
  DeleteEndpointDocument,
  EndpointDocument,
  type EndpointFilter,
  type EndpointOrder,
  EndpointsDocument,
  UpdateEndpointDocument,
} from '../../../generated/console/endpoints.ts';
import { notFound } from '../../api/problem.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { Breakable } from '../../parts/breakable.tsx';
import { ConfirmDialog } from '../../parts/confirm.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { type Column, DataTable, Pager } from '../../parts/data-table.tsx';
import { draftOf } from '../../parts/drafts.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { FilterBar, NoMatches } from '../../parts/filter-bar.tsx';
import { lazyPart } from '../../parts/lazy-part.ts';
import { Page, Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { ActionForRole, useRoleObstacle } from '../../parts/role.tsx';
import { RowMenu } from '../../parts/row-menu.tsx';
import { showDone } from '../../parts/toast.tsx';
import { useListFilters } from '../../parts/use-list-filters.ts';
import { useOpener } from '../../parts/use-opener.ts';
import { usePaging } from '../../parts/use-paging.ts';
import { IMPORT_DRAFT } from './import-values.ts';
import { methodsText } from './methods.tsx';
import { type EndpointRow, priceText } from './rows.ts';
import { Warnings } from './warnings.tsx';

const EndpointForm = lazyPart(() => import('./form.tsx'), 'EndpointForm');
const ImportDialog = lazyPart(() => import('./import.tsx'), 'ImportDialog');
const EndpointPreview = lazyPart(() => import('./preview.tsx'), 'EndpointPreview');

type Opened =
  | { what: 'form'; endpoint?: EndpointRow }
  | { what: 'import' }
  | { what: 'preview' | 'delete'; endpoint: EndpointRow };

export function EndpointsPage() {
  const project = useProject();
  const filters = useListFilters<EndpointFilter>('endpoints');
  const paging = usePaging();
  const [, go] = useLocation();
  const [chosen, setOpened] = useState<Opened | undefined>(() =>
    draftOf(IMPORT_DRAFT) ? { what: 'import' } : undefined,
  );
  const base = `/projects/${project.id}/endpoints`;
  const [orderBy] = filters.values.orderBy ?? [];
  const variables = {
    projectId: project.id,
    filter: filters.filter,
    ...(orderBy && { orderBy: orderBy as EndpointOrder }),
    ...paging.variables,
  };
  const [{ data, error }, reload] = useQuery({ query: EndpointsDocument, variables });
  const { atFilters, problem } = filters.split(error);
  const update = useSubmit(UpdateEndpointDocument);
  const refresh = () => reload({ requestPolicy: 'network-only' });
  const { endpointId } = useParams<{ endpointId?: string }>();
  const [linked] = useQuery({
    query: EndpointDocument,
    variables: { projectId: project.id, id: endpointId ?? '' },
    pause: !endpointId,
  });
  const endpoints = data?.project?.endpoints;
  const loaded = linked.data?.project?.endpoint;
  const found = [...(endpoints?.nodes ?? []), ...(loaded ? [loaded] : [])].find(({ id }) => id === endpointId);
  // The form has a URL, so it is still open after a reload or a new sign-in.
  const edit = ({ id }: EndpointRow) => go(filters.keepIn(`${base}/${id}`));
  const opened: Opened | undefined = chosen ?? (found ? { what: 'form', endpoint: found } : undefined);
  const close = () => {
    setOpened(undefined);
    if (endpointId) go(filters.keepIn(base));
  };
  const obstacle = useRoleObstacle('DEVELOPER');
  useOpener('new', () => setOpened({ what: 'form' }), obstacle);
  useOpener('import', () => setOpened({ what: 'import' }), obstacle);
  async function setActive({ id }: EndpointRow, isActive: boolean) {
    if (!(await update.submit({ input: { id, isActive } }))) return;
    const word = (isOn: boolean) => (isOn ? 'enabled' : 'disabled');
    showDone(`Endpoint ${word(isActive)}`, {
      label: 'Undo',
      done: `Endpoint ${word(!isActive)} again`,
      run: () => update.attempt({ input: { id, isActive: !isActive } }),
    });
  }
  const add = (
    <ActionForRole lowest="DEVELOPER">
      <Button leftSection={<IconPlus size={16} />} onClick={() => setOpened({ what: 'form' })}>
        Add endpoint
      </Button>
    </ActionForRole>
  );
  const actions = (
    <Group gap="sm">
      <ActionForRole lowest="DEVELOPER">
        <Button
          variant="default"
          leftSection={<IconFileImport size={16} />}
          onClick={() => setOpened({ what: 'import' })}
        >
          Import
        </Button>
      </ActionForRole>
      {add}
    </Group>
  );
  const columns: Column<EndpointRow>[] = [
    {
      title: 'Path',
      render: (endpoint) => (
        <Group gap={6} wrap="nowrap">
          <Anchor component="button" type="button" onClick={() => edit(endpoint)}>
            <Code bg="transparent" p={0}>
              <Breakable text={endpoint.path} />
            </Code>
          </Anchor>
          {endpoint.warnings.length > 0 && <Warnings endpoint={endpoint} />}
        </Group>
      ),
    },
    { title: 'Methods', render: ({ methods }) => methodsText(methods) },
    { title: 'Price', align: 'right', render: priceText },
    {
      title: 'Upstream',
      render: ({ upstreamUrl }) => (
        <Code bg="transparent" p={0}>
          <Breakable text={upstreamUrl} />
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
            { label: 'Preview as buyer', lowest: 'VIEWER', onClick: () => setOpened({ what: 'preview', endpoint }) },
            { label: 'Edit', lowest: 'DEVELOPER', onClick: () => edit(endpoint) },
            {
              label: endpoint.isActive ? 'Disable' : 'Enable',
              lowest: 'DEVELOPER',
              onClick: () => setActive(endpoint, !endpoint.isActive),
            },
            {
              label: 'Delete',
              lowest: 'DEVELOPER',
              onClick: () => setOpened({ what: 'delete', endpoint }),
              isDangerous: true,
            },
          ]}
        />
      ),
    },
  ];
  return (
    <Page
      title="Endpoints"
      isAboutMoney
      lead="Public paths that charge a price per request and forward paid requests to your API."
      actions={actions}
    >
      {problem && <ProblemNotice problem={problem} onRetry={reload} />}
      {endpointId && linked.data && !found && <ProblemNotice problem={notFound('endpoint')} />}
      {update.problem && <ProblemNotice problem={update.problem} />}
      <Panel flush>
        <FilterBar filters={filters} errors={atFilters} />
        <DataTable
          caption="Endpoints"
          columns={columns}
          rows={endpoints?.nodes ?? (error ? null : undefined)}
          keyOf={({ id }) => id}
          empty={
            <NoMatches what="endpoints" filters={filters}>
              <EmptyState icon={IconRoute} title="Create your first paid endpoint" action={add}>
                Choose a public path, the API behind it, and a price per request. The gateway collects the payments.
              </EmptyState>
            </NoMatches>
          }
        />
        <Pager pageInfo={endpoints?.pageInfo} paging={paging} />
      </Panel>
      <Suspense>
        {opened?.what === 'form' && (
          <EndpointForm
            {...(opened.endpoint && { endpoint: opened.endpoint })}
            onClose={close}
            onSaved={(endpoint) => {
              if (opened.endpoint) return close();
              setOpened({ what: 'preview', endpoint });
              refresh();
            }}
          />
        )}
        {opened?.what === 'import' && <ImportDialog onClose={close} onImported={refresh} />}
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
