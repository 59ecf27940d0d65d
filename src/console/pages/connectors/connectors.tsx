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
import { SubscriberState } from '../../parts/destination-state.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { lazyPart } from '../../parts/lazy-part.ts';
import { Page, Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { RowMenu } from '../../parts/row-menu.tsx';
import { describeEvents } from '../../parts/subscription.ts';
import { announceTestEvent, INSTEAD_OF_DELETING, SWITCH_ON_FIRST, SwitchOffDialog } from '../../parts/switch-off.tsx';
import { Time } from '../../parts/time.tsx';
import type { ConnectorInfo, ConnectorRow } from './rows.ts';

const ConnectorPicker = lazyPart(() => import('./picker.tsx'), 'ConnectorPicker');
const ConnectorForm = lazyPart(() => import('./form.tsx'), 'ConnectorForm');

type Opened =
  | { what: 'picker' }
  | { what: 'form'; info: ConnectorInfo; connector?: ConnectorRow }
  | { what: 'delete' | 'switchOff'; connector: ConnectorRow };

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
  const deliveriesTo = ({ id }: Pick<ConnectorRow, 'id'>) => `/projects/${project.id}/deliveries?destination=${id}`;
  async function test({ id }: ConnectorRow) {
    const result = (await trial.submit({ input: { id } }))?.testConnector;
    if (!result) return;
    if (result.delivery) {
      announceTestEvent(result.delivery);
      return go(deliveriesTo({ id }));
    }
    const { ok = false, message = '' } = result.probe ?? {};
    notifications.show({ title: ok ? 'The credentials work' : 'Refused', message, color: ok ? 'teal' : 'red' });
  }

  const add = (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setOpened({ what: 'picker' })}>
      New connector
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
    { title: 'State', render: (connector) => <SubscriberState subscriber={connector} /> },
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
                label: info?.canProbe ? 'Check the credentials' : 'Send a test event',
                onClick: () => test(connector),
                // A check of the credentials sends no event, so it works for one that is off too.
                obstacle: connector.isActive || info?.canProbe ? undefined : SWITCH_ON_FIRST,
              },
              { label: 'Deliveries', onClick: () => go(deliveriesTo(connector)) },
              { label: 'Send many again', onClick: () => go(`${deliveriesTo(connector)}&replay`) },
              { label: 'Edit', onClick: () => info && setOpened({ what: 'form', info, connector }) },
              {
                label: connector.isActive ? 'Switch off' : 'Switch on',
                onClick: () =>
                  connector.isActive ? setOpened({ what: 'switchOff', connector }) : setActive(connector, true),
              },
              { label: 'Delete', onClick: () => setOpened({ what: 'delete', connector }), isDangerous: true },
            ]}
          />
        );
      },
    },
  ];
  return (
    <Page title="Connectors" lead="Services that are told of events in their own language." actions={add}>
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
            <EmptyState icon={IconPlugConnected} title="Bring payments to where you work" action={add}>
              Slack, PagerDuty, BigQuery, Xero and more: choose a service, paste its credential, and try it out.
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
      {opened?.what === 'switchOff' && (
        <SwitchOffDialog
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
        Its deliveries, those under way among them, are deleted as well. {INSTEAD_OF_DELETING}
      </ConfirmDialog>
    </Page>
  );
}
