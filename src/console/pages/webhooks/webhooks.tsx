import { Anchor, Button, Code, Group, Text } from '@mantine/core';
import { IconPlus, IconWebhook } from '@tabler/icons-react';
import { Suspense, useState } from 'react';
import { useQuery } from 'urql';
import { useLocation } from 'wouter';
import {
  DeleteWebhookDocument,
  SendWebhookTestEventDocument,
  UpdateWebhookDocument,
  WebhooksDocument,
} from '../../../generated/console/webhooks.ts';
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
import { SecretDialog } from '../../parts/secret-dialog.tsx';
import { Time } from '../../parts/time.tsx';
import type { WebhookRow } from './rows.ts';

const WebhookForm = lazyPart(() => import('./form.tsx'), 'WebhookForm');
const RotateSecretDialog = lazyPart(() => import('./rotate-secret.tsx'), 'RotateSecretDialog');
const SignatureHelp = lazyPart(() => import('./signature-help.tsx'), 'SignatureHelp');

type Opened =
  | { what: 'form'; webhook?: WebhookRow }
  | { what: 'delete' | 'rotate' | 'disable'; webhook: WebhookRow }
  | { what: 'help' };

export function WebhooksPage() {
  const project = useProject();
  const paging = usePaging();
  const [, go] = useLocation();
  const [opened, setOpened] = useState<Opened>();
  const [secret, setSecret] = useState<string>();
  const variables = { projectId: project.id, ...paging.variables };
  const [{ data, error }, reload] = useQuery({
    query: WebhooksDocument,
    variables,
    requestPolicy: 'cache-and-network',
  });
  const refresh = () => reload({ requestPolicy: 'network-only' });
  const update = useSubmit(UpdateWebhookDocument);
  const removal = useSubmit(DeleteWebhookDocument);
  const trial = useSubmit(SendWebhookTestEventDocument);
  const close = () => setOpened(undefined);
  const setActive = ({ id }: WebhookRow, isActive: boolean) => update.submit({ input: { id, isActive } });
  const setPaused = ({ id }: WebhookRow, isPaused: boolean) => update.submit({ input: { id, isPaused } });
  const deliveriesTo = ({ id }: Pick<WebhookRow, 'id'>) => `/projects/${project.id}/deliveries?destination=${id}`;
  async function sendTest({ id }: WebhookRow) {
    const delivery = (await trial.submit({ input: { id } }))?.sendWebhookTestEvent?.delivery;
    if (!delivery) return;
    announceTestEvent(delivery);
    go(deliveriesTo({ id }));
  }
  const add = (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setOpened({ what: 'form' })}>
      Add webhook
    </Button>
  );
  const columns: Column<WebhookRow>[] = [
    {
      title: 'URL',
      render: (webhook) => (
        <>
          <Anchor component="button" type="button" onClick={() => setOpened({ what: 'form', webhook })}>
            <Code bg="transparent" style={{ overflowWrap: 'anywhere' }}>
              {webhook.url}
            </Code>
          </Anchor>
          {webhook.description && (
            <Text size="xs" c="dimmed">
              {webhook.description}
            </Text>
          )}
        </>
      ),
    },
    { title: 'Events', render: ({ eventTypes }) => describeEvents(eventTypes) },
    { title: 'Status', render: (webhook) => <DestinationStatusBadge destination={webhook} /> },
    { title: 'Created', align: 'right', render: ({ createdAt }) => <Time iso={createdAt} /> },
    {
      title: 'Actions',
      align: 'right',
      width: 80,
      render: (webhook) => (
        <RowMenu
          name={webhook.url}
          actions={[
            {
              label: 'Send test event',
              onClick: () => sendTest(webhook),
              obstacle: webhook.isActive ? undefined : ENABLE_FIRST,
            },
            { label: 'View deliveries', onClick: () => go(deliveriesTo(webhook)) },
            { label: 'Replay deliveries', onClick: () => go(`${deliveriesTo(webhook)}&replay`) },
            { label: 'Edit', onClick: () => setOpened({ what: 'form', webhook }) },
            { label: 'Rotate secret', onClick: () => setOpened({ what: 'rotate', webhook }) },
            pauseAction(webhook, setPaused),
            {
              label: webhook.isActive ? 'Disable' : 'Enable',
              onClick: () => (webhook.isActive ? setOpened({ what: 'disable', webhook }) : setActive(webhook, true)),
            },
            { label: 'Delete', onClick: () => setOpened({ what: 'delete', webhook }), isDangerous: true },
          ]}
        />
      ),
    },
  ];
  return (
    <Page
      title="Webhooks"
      lead="Send signed events to your own servers."
      actions={
        <Group gap="xs">
          <Button variant="default" onClick={() => setOpened({ what: 'help' })}>
            Verify signatures
          </Button>
          {add}
        </Group>
      }
    >
      {error && <ProblemNotice problem={toProblem(error)} onRetry={reload} />}
      {update.problem && <ProblemNotice problem={update.problem} />}
      {trial.problem && <ProblemNotice problem={trial.problem} />}
      <Panel flush>
        <DataTable
          caption="Webhooks"
          columns={columns}
          rows={data?.project?.webhooks.nodes ?? (error ? null : undefined)}
          keyOf={({ id }) => id}
          empty={
            <EmptyState icon={IconWebhook} title="Add your first webhook" action={add} command="npm run receiver">
              Add an HTTPS URL. To test locally, run this receiver and use http://127.0.0.1:4010/ as the URL:
            </EmptyState>
          }
        />
        <Pager pageInfo={data?.project?.webhooks.pageInfo} paging={paging} />
      </Panel>
      <Suspense>
        {opened?.what === 'form' && (
          <WebhookForm
            {...(opened.webhook && { webhook: opened.webhook })}
            onClose={close}
            onSaved={(created) => {
              close();
              setSecret(created);
              refresh();
            }}
          />
        )}
        {opened?.what === 'rotate' && (
          <RotateSecretDialog
            webhook={opened.webhook}
            onClose={close}
            onRotated={(rotated) => {
              close();
              setSecret(rotated);
            }}
          />
        )}
        {opened?.what === 'help' && <SignatureHelp onClose={close} />}
      </Suspense>
      <SecretDialog secret={secret} title="Your signing secret" onClose={() => setSecret(undefined)}>
        Use it on your server to verify that requests come from Tollgate.
      </SecretDialog>
      {opened?.what === 'disable' && (
        <DisableDialog
          what="webhook"
          isBusy={update.isBusy}
          problem={update.problem}
          onClose={close}
          onConfirm={async () => {
            if (await setActive(opened.webhook, false)) close();
          }}
        />
      )}
      <ConfirmDialog
        isOpen={opened?.what === 'delete'}
        title="Delete webhook"
        action="Delete"
        isBusy={removal.isBusy}
        problem={removal.problem}
        onClose={close}
        onConfirm={async () => {
          if (opened?.what !== 'delete' || !(await removal.submit({ input: { id: opened.webhook.id } }))) return;
          close();
          refresh();
        }}
      >
        Its deliveries are deleted too, including those in progress. {DISABLE_INSTEAD}
      </ConfirmDialog>
    </Page>
  );
}
