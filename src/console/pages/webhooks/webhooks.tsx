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
import { SubscriberState } from '../../parts/destination-state.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { lazyPart } from '../../parts/lazy-part.ts';
import { Page, Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { RowMenu } from '../../parts/row-menu.tsx';
import { SecretDialog } from '../../parts/secret-dialog.tsx';
import { describeEvents } from '../../parts/subscription.ts';
import { announceTestEvent, INSTEAD_OF_DELETING, SWITCH_ON_FIRST, SwitchOffDialog } from '../../parts/switch-off.tsx';
import { Time } from '../../parts/time.tsx';
import type { WebhookRow } from './rows.ts';

const WebhookForm = lazyPart(() => import('./form.tsx'), 'WebhookForm');
const RotateSecretDialog = lazyPart(() => import('./rotate-secret.tsx'), 'RotateSecretDialog');
const SignatureHelp = lazyPart(() => import('./signature-help.tsx'), 'SignatureHelp');

type Opened =
  | { what: 'form'; webhook?: WebhookRow }
  | { what: 'delete' | 'rotate' | 'switchOff'; webhook: WebhookRow }
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
  const deliveriesTo = ({ id }: Pick<WebhookRow, 'id'>) => `/projects/${project.id}/deliveries?destination=${id}`;
  async function sendTest({ id }: WebhookRow) {
    const delivery = (await trial.submit({ input: { id } }))?.sendWebhookTestEvent?.delivery;
    if (!delivery) return;
    announceTestEvent(delivery);
    go(deliveriesTo({ id }));
  }
  const add = (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setOpened({ what: 'form' })}>
      New webhook
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
    { title: 'State', render: (webhook) => <SubscriberState subscriber={webhook} /> },
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
              label: 'Send a test event',
              onClick: () => sendTest(webhook),
              obstacle: webhook.isActive ? undefined : SWITCH_ON_FIRST,
            },
            { label: 'Deliveries', onClick: () => go(deliveriesTo(webhook)) },
            { label: 'Send many again', onClick: () => go(`${deliveriesTo(webhook)}&replay`) },
            { label: 'Edit', onClick: () => setOpened({ what: 'form', webhook }) },
            { label: 'New signing secret', onClick: () => setOpened({ what: 'rotate', webhook }) },
            {
              label: webhook.isActive ? 'Switch off' : 'Switch on',
              onClick: () => (webhook.isActive ? setOpened({ what: 'switchOff', webhook }) : setActive(webhook, true)),
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
      lead="Receivers of your own, told of events by signed requests."
      actions={
        <Group gap="xs">
          <Button variant="default" onClick={() => setOpened({ what: 'help' })}>
            Check signatures
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
            <EmptyState icon={IconWebhook} title="Be told of every payment" action={add} command="npm run receiver">
              Name an https address of yours. To look at what arrives in development, this prints it:
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
      <SecretDialog secret={secret} title="The signing secret" onClose={() => setSecret(undefined)}>
        Your receiver checks with it that a request comes from here.
      </SecretDialog>
      {opened?.what === 'switchOff' && (
        <SwitchOffDialog
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
        Its deliveries, those under way among them, are deleted as well. {INSTEAD_OF_DELETING}
      </ConfirmDialog>
    </Page>
  );
}
