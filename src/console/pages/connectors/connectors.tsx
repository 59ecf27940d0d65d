import { Anchor, Button, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconPlugConnected, IconPlus } from '@tabler/icons-react';
import { Suspense, useState } from 'react';
import { useQuery } from 'urql';
import { useLocation } from 'wouter';
import {
  ConnectorsDocument,
  ConnectorTypesDocument,
  DeleteConnectorDocument,
  TestConnectorDocument,
  UpdateConnectorDocument,
} from '../../../generated/console/connectors.ts';
import { toProblem } from '../../api/problem.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { ConfirmDialog } from '../../parts/confirm.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { type Column, DataTable, Pager, usePaging } from '../../parts/data-table.tsx';
import { DestinationStatusBadge } from '../../parts/destination-status.tsx';
import { describeEvents } from '../../parts/destination-values.ts';
import { announceTestEvent, DISABLE_INSTEAD, DisableDialog, ENABLE_FIRST } from '../../parts/disable-dialog.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { lazyPart } from '../../parts/lazy-part.ts';
import { Page, Panel } from '../../parts/page.tsx';
import { pauseAction } from '../../parts/pause-action.ts';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { RowMenu } from '../../parts/row-menu.tsx';
import { Time } from '../../parts/time.tsx';
import type { ConnectorInfo, ConnectorRow } from './rows.ts';

const ConnectorPicker = lazyPart(() => import('./picker.tsx'), 'ConnectorPicker');
const ConnectorForm = lazyPart(() => import('./form.tsx'), 'ConnectorForm');

type Opened =
  | { what: 'picker' }
  | { what: 'form'; info: ConnectorInfo; connector?: ConnectorRow }
  | { what: 'delete' | 'disable'; connector: ConnectorRow };

export function ConnectorsPage() {
  const project = useProject();
  const paging = usePaging();
  const [, go] = useLocation();
  const [opened, setOpened] = useState<Opened>();
  const [{ data: types }] = useQuery({ query: ConnectorTypesDocument });
  const variables = { projectId: project.id, ...paging.variables };
  const [{ data, error }, reload] = useQuery({
    query: ConnectorsDocument,
    variables,
    requestPolicy: 'cache-and-network',
  });
  const refresh = () => reload({ requestPolicy: 'network-only' });
  const update = useSubmit(UpdateConnectorDocument);
  const removal = useSubmit(DeleteConnectorDocument);
  const trial = useSubmit(TestConnectorDocument);
  const close = () => setOpened(undefined);
  const infoOf = (type: string) => types?.connectorTypes?.find((info) => info.type === type);

  const setActive = ({ id }: ConnectorRow, isActive: boolean) => update.submit({ input: { id, isActive } });
  const setPaused = ({ id }: ConnectorRow, isPaused: boolean) => update.submit({ input: { id, isPaused } });
  const deliveriesTo = ({ id }: Pick<ConnectorRow, 'id'>) => `/projects/${project.id}/deliveries?destination=${id}`;
  async function test({ id }: ConnectorRow) {
    const result = (await trial.submit({ input: { id } }))?.testConnector;
    if (!result) return;
    if (result.delivery) {
      announceTestEvent(result.delivery);
      return go(deliveriesTo({ id }));
    }
    const { ok = false, message = '' } = result.probe ?? {};
    notifications.show({
      title: ok ? 'Connection works' : 'Connection test failed',
      message,
      color: ok ? 'teal' : 'red',
    });
  }

  const add = (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setOpened({ what: 'picker' })}>
      Add connector
    </Button>
  );
  const columns: Column<ConnectorRow>[] = [
    {
      title: 'Service',
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
              {info?.title ?? connector.type}
            </Anchor>
            <Text size="xs" c="dimmed">
              {connector.id}
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
            name={`${info?.title ?? connector.type} ${connector.id}`}
            actions={[
              {
                label: info?.canProbe ? 'Test credentials' : 'Send test event',
                onClick: () => test(connector),
                // Testing credentials sends no event, so it works for disabled connectors too.
                obstacle: connector.isActive || info?.canProbe ? undefined : ENABLE_FIRST,
              },
              { label: 'View deliveries', onClick: () => go(deliveriesTo(connector)) },
              { label: 'Replay deliveries', onClick: () => go(`${deliveriesTo(connector)}&replay`) },
              { label: 'Edit', onClick: () => info && setOpened({ what: 'form', info, connector }) },
              pauseAction(connector, setPaused),
              {
                label: connector.isActive ? 'Disable' : 'Enable',
                onClick: () =>
                  connector.isActive ? setOpened({ what: 'disable', connector }) : setActive(connector, true),
              },
              { label: 'Delete', onClick: () => setOpened({ what: 'delete', connector }), isDangerous: true },
            ]}
          />
        );
      },
    },
  ];
  return (
    <Page title="Connectors" lead="Send events to Slack, BigQuery, Xero, and other services." actions={add}>
      {error && <ProblemNotice problem={toProblem(error)} onRetry={reload} />}
      {update.problem && <ProblemNotice problem={update.problem} />}
      {trial.problem && <ProblemNotice problem={trial.problem} />}
      <Panel flush>
        <DataTable
          caption="Connectors"
          columns={columns}
          rows={data?.project?.connectors.nodes ?? (error ? null : undefined)}
          keyOf={({ id }) => id}
          empty={
            <EmptyState icon={IconPlugConnected} title="Add your first connector" action={add}>
              Choose a service, enter its credentials, and send a test event.
            </EmptyState>
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
              refresh();
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
        Its deliveries are deleted too, including those in progress. {DISABLE_INSTEAD}
      </ConfirmDialog>
    </Page>
  );
}
