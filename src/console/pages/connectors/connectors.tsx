import { Anchor, Stack, Text } from '@mantine/core';
import { IconPlugConnected } from '@tabler/icons-react';
import { Suspense, useState } from 'react';
import { useQuery } from 'urql';
import { useLocation, useParams } from 'wouter';
import {
  ConnectorDocument,
  type ConnectorFilter,
  ConnectorsDocument,
  ConnectorTypesDocument,
  DeleteConnectorDocument,
  UpdateConnectorDocument,
} from '../../../generated/console/connectors.ts';
import { notFound } from '../../api/problem.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { AddWithinLimit } from '../../parts/add-within-limit.tsx';
import { ConfirmDialog } from '../../parts/confirm.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { type Column, DataTable, Pager } from '../../parts/data-table.tsx';
import { DestinationStatusBadge } from '../../parts/destination-status.tsx';
import { switchesOf } from '../../parts/destination-switches.ts';
import { describeEvents } from '../../parts/destination-values.ts';
import { DISABLE_INSTEAD, DisableDialog, ENABLE_FIRST } from '../../parts/disable-dialog.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { FilterBar, NoMatches } from '../../parts/filter-bar.tsx';
import { lazyPart } from '../../parts/lazy-part.ts';
import { Page, Panel } from '../../parts/page.tsx';
import { pauseAction } from '../../parts/pause-action.ts';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { useRoleObstacle } from '../../parts/role.tsx';
import { RowMenu } from '../../parts/row-menu.tsx';
import { Time } from '../../parts/time.tsx';
import { useListFilters } from '../../parts/use-list-filters.ts';
import { useOpener } from '../../parts/use-opener.ts';
import { usePaging } from '../../parts/use-paging.ts';
import { useTestEvent } from '../../parts/use-test-event.ts';
import type { ConnectorInfo, ConnectorRow } from './rows.ts';

const ConnectorPicker = lazyPart(() => import('./picker.tsx'), 'ConnectorPicker');
const ConnectorForm = lazyPart(() => import('./form.tsx'), 'ConnectorForm');

type Opened =
  | { what: 'picker' }
  | { what: 'form'; info: ConnectorInfo; connector?: ConnectorRow }
  | { what: 'delete' | 'disable'; connector: ConnectorRow };

export function ConnectorsPage() {
  const project = useProject();
  const filters = useListFilters<ConnectorFilter>('connectors');
  const paging = usePaging();
  const [, go] = useLocation();
  const [chosen, setOpened] = useState<Opened>();
  const [{ data: types }] = useQuery({ query: ConnectorTypesDocument });
  const variables = { projectId: project.id, filter: filters.filter, ...paging.variables };
  const [{ data, error }, reload] = useQuery({
    query: ConnectorsDocument,
    variables,
    requestPolicy: 'cache-and-network',
  });
  const { atFilters, problem } = filters.split(error);
  const refresh = () => reload({ requestPolicy: 'network-only' });
  const update = useSubmit(UpdateConnectorDocument);
  const removal = useSubmit(DeleteConnectorDocument);
  const trial = useTestEvent(project.id);
  const infoOf = (type: string) => types?.connectorTypes?.find((info) => info.type === type);
  const base = `/projects/${project.id}/connectors`;
  const { connectorId } = useParams<{ connectorId?: string }>();
  const [linked] = useQuery({
    query: ConnectorDocument,
    variables: { projectId: project.id, id: connectorId ?? '' },
    pause: !connectorId,
  });
  const loaded = linked.data?.project?.connector;
  const found = loaded?.id === connectorId ? loaded : undefined;
  const info = found && infoOf(found.type);
  const opened: Opened | undefined = chosen ?? (info ? { what: 'form', info, connector: found } : undefined);
  const close = () => {
    setOpened(undefined);
    if (connectorId) go(filters.keepIn(base));
  };

  useOpener('new', () => setOpened({ what: 'picker' }), useRoleObstacle('DEVELOPER'));
  const { setActive, setPaused } = switchesOf('Connector', update);
  const deliveriesTo = ({ id }: Pick<ConnectorRow, 'id'>) => `/projects/${project.id}/deliveries?destination=${id}`;
  const add = (
    <AddWithinLimit
      what="connector"
      left={data?.project?.remainingConnectors}
      onClick={() => setOpened({ what: 'picker' })}
    />
  );
  const columns: Column<ConnectorRow>[] = [
    {
      title: 'Connector',
      render: (connector) => {
        const info = infoOf(connector.type);
        return (
          <Stack gap={0} align="flex-start">
            <Anchor
              component="button"
              type="button"
              fw={600}
              onClick={() => info && setOpened({ what: 'form', info, connector })}
            >
              {connector.name ?? info?.title ?? connector.type}
            </Anchor>
            <Text size="xs" c="dimmed">
              {connector.name ? `${info?.title ?? connector.type} · ${connector.id}` : connector.id}
            </Text>
          </Stack>
        );
      },
    },
    { title: 'Events', render: ({ eventTypes }) => describeEvents(eventTypes) },
    { title: 'Status', render: (connector) => <DestinationStatusBadge destination={connector} /> },
    { title: 'Created', align: 'right', render: ({ createdAt }) => <Time iso={createdAt} /> },
    {
      title: 'Actions',
      align: 'right',
      width: 80,
      render: (connector) => {
        const info = infoOf(connector.type);
        return (
          <RowMenu
            name={connector.name ?? `${info?.title ?? connector.type} ${connector.id}`}
            actions={[
              {
                label: info?.canProbe ? 'Test credentials' : 'Send test event',
                lowest: 'DEVELOPER',
                onClick: () => trial.toConnector(connector),
                // Testing credentials sends no event, so it works for disabled connectors too.
                obstacle: connector.isActive || info?.canProbe ? undefined : ENABLE_FIRST,
              },
              { label: 'View deliveries', lowest: 'VIEWER', onClick: () => go(deliveriesTo(connector)) },
              {
                label: 'Replay deliveries',
                lowest: 'DEVELOPER',
                onClick: () => go(`${deliveriesTo(connector)}&replay`),
              },
              {
                label: 'Edit',
                lowest: 'DEVELOPER',
                onClick: () => info && setOpened({ what: 'form', info, connector }),
              },
              pauseAction(connector, setPaused),
              {
                label: connector.isActive ? 'Disable' : 'Enable',
                lowest: 'DEVELOPER',
                onClick: () =>
                  connector.isActive ? setOpened({ what: 'disable', connector }) : setActive(connector, true),
              },
              {
                label: 'Delete',
                lowest: 'DEVELOPER',
                onClick: () => setOpened({ what: 'delete', connector }),
                isDangerous: true,
              },
            ]}
          />
        );
      },
    },
  ];
  return (
    <Page title="Connectors" lead="Send events to Slack, BigQuery, Xero, and other services." actions={add}>
      {problem && <ProblemNotice problem={problem} onRetry={reload} />}
      {connectorId && linked.data && !loaded && <ProblemNotice problem={notFound('connector')} />}
      {update.problem && <ProblemNotice problem={update.problem} />}
      {trial.problem && <ProblemNotice problem={trial.problem} />}
      <Panel flush>
        <FilterBar filters={filters} errors={atFilters} />
        <DataTable
          caption="Connectors"
          columns={columns}
          rows={data?.project?.connectors.nodes ?? (error ? null : undefined)}
          keyOf={({ id }) => id}
          empty={
            <NoMatches what="connectors" filters={filters}>
              <EmptyState icon={IconPlugConnected} title="Add your first connector" action={add}>
                Choose a service, enter its credentials, and send a test event.
              </EmptyState>
            </NoMatches>
          }
        />
        <Pager pageInfo={data?.project?.connectors.pageInfo} paging={paging} />
      </Panel>
      <Suspense>
        {opened?.what === 'picker' && (
          <ConnectorPicker
            types={types?.connectorTypes ?? []}
            onClose={close}
            onPick={(info) => setOpened({ what: 'form', info })}
          />
        )}
        {opened?.what === 'form' && (
          <ConnectorForm
            info={opened.info}
            {...(opened.connector && { connector: opened.connector })}
            onClose={close}
            onSaved={() => {
              close();
              if (!opened.connector) refresh();
            }}
          />
        )}
      </Suspense>
      {opened?.what === 'disable' && (
        <DisableDialog
          what="connector"
          isBusy={update.isBusy}
          problem={update.problem}
          onClose={close}
          onConfirm={async () => {
            if (await setActive(opened.connector, false)) close();
          }}
          onPause={
            opened.connector.isPaused
              ? undefined
              : async () => {
                  if (await setPaused(opened.connector, true)) close();
                }
          }
        />
      )}
      <ConfirmDialog
        isOpen={opened?.what === 'delete'}
        title="Delete connector"
        action="Delete"
        isBusy={removal.isBusy}
        problem={removal.problem}
        onClose={close}
        onConfirm={async () => {
          if (opened?.what !== 'delete' || !(await removal.submit({ input: { id: opened.connector.id } }))) return;
          close();
          refresh();
        }}
      >
        This also deletes its deliveries, including those in progress. {DISABLE_INSTEAD}
      </ConfirmDialog>
    </Page>
  );
}
