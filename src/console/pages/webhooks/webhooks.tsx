import { Anchor, Button, Group } from '@mantine/core';
import { IconWebhook } from '@tabler/icons-react';
import { Suspense, useState } from 'react';
import { useQuery } from 'urql';
import { useLocation, useParams } from 'wouter';
import {
  DeleteWebhookDocument,
  UpdateWebhookDocument,
  WebhookDocument,
  type WebhookFilter,
  WebhooksDocument,
} from '../../../generated/console/webhooks.ts';
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
import { docsUrl } from '../../parts/docs-link.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { FilterBar, NoMatches } from '../../parts/filter-bar.tsx';
import { lazyPart } from '../../parts/lazy-part.ts';
import { Page, Panel } from '../../parts/page.tsx';
import { pauseAction } from '../../parts/pause-action.ts';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { useRoleObstacle } from '../../parts/role.tsx';
import { RowMenu } from '../../parts/row-menu.tsx';
import { SecretDialog } from '../../parts/secret-dialog.tsx';
import { Time } from '../../parts/time.tsx';
import { useListFilters } from '../../parts/use-list-filters.ts';
import { useOpener } from '../../parts/use-opener.ts';
import { usePaging } from '../../parts/use-paging.ts';
import { useTestEvent } from '../../parts/use-test-event.ts';
import type { WebhookRow } from './rows.ts';
import { WebhookCell } from './webhook-cell.tsx';

const WebhookForm = lazyPart(() => import('./form.tsx'), 'WebhookForm');
const RotateWebhookSecret = lazyPart(() => import('./rotate-webhook-secret.tsx'), 'RotateWebhookSecret');
const SignatureHelp = lazyPart(() => import('./signature-help.tsx'), 'SignatureHelp');

type Opened =
  | { what: 'form'; webhook?: WebhookRow }
  | { what: 'delete' | 'rotate' | 'disable'; webhook: WebhookRow }
  | { what: 'help' };

export function WebhooksPage() {
  const project = useProject();
  const filters = useListFilters<WebhookFilter>('webhooks');
  const paging = usePaging();
  const [, go] = useLocation();
  const [chosen, setOpened] = useState<Opened>();
  const [secret, setSecret] = useState<string>();
  const variables = { projectId: project.id, filter: filters.filter, ...paging.variables };
  const [{ data, error }, reload] = useQuery({
    query: WebhooksDocument,
    variables,
    requestPolicy: 'cache-and-network',
  });
  const { atFilters, problem } = filters.split(error);
  const refresh = () => reload({ requestPolicy: 'network-only' });
  const update = useSubmit(UpdateWebhookDocument);
  const removal = useSubmit(DeleteWebhookDocument);
  const trial = useTestEvent(project.id);
  const base = `/projects/${project.id}/webhooks`;
  const { webhookId } = useParams<{ webhookId?: string }>();
  const [linked] = useQuery({
    query: WebhookDocument,
    variables: { projectId: project.id, id: webhookId ?? '' },
    pause: !webhookId,
  });
  const loaded = linked.data?.project?.webhook;
  const found = loaded?.id === webhookId ? loaded : undefined;
  const opened: Opened | undefined = chosen ?? (found ? { what: 'form', webhook: found } : undefined);
  const close = () => {
    setOpened(undefined);
    if (webhookId) go(filters.keepIn(base));
  };
  useOpener('new', () => setOpened({ what: 'form' }), useRoleObstacle('DEVELOPER'));
  const { setActive, setPaused } = switchesOf('Webhook', update);
  const deliveriesTo = ({ id }: Pick<WebhookRow, 'id'>) => `/projects/${project.id}/deliveries?destination=${id}`;
  const add = (
    <AddWithinLimit
      what="webhook"
      left={data?.project?.remainingWebhooks}
      onClick={() => setOpened({ what: 'form' })}
    />
  );
  const columns: Column<WebhookRow>[] = [
    {
      title: 'Webhook',
      render: (webhook) => <WebhookCell webhook={webhook} onOpen={() => setOpened({ what: 'form', webhook })} />,
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
          name={webhook.name ?? webhook.url}
          actions={[
            {
              label: 'Send test event',
              lowest: 'DEVELOPER',
              onClick: () => trial.toWebhook(webhook),
              obstacle: webhook.isActive ? undefined : ENABLE_FIRST,
            },
            { label: 'View deliveries', lowest: 'VIEWER', onClick: () => go(deliveriesTo(webhook)) },
            { label: 'Replay deliveries', lowest: 'DEVELOPER', onClick: () => go(`${deliveriesTo(webhook)}&replay`) },
            { label: 'Edit', lowest: 'DEVELOPER', onClick: () => setOpened({ what: 'form', webhook }) },
            { label: 'Rotate secret', lowest: 'DEVELOPER', onClick: () => setOpened({ what: 'rotate', webhook }) },
            pauseAction(webhook, setPaused),
            {
              label: webhook.isActive ? 'Disable' : 'Enable',
              lowest: 'DEVELOPER',
              onClick: () => (webhook.isActive ? setOpened({ what: 'disable', webhook }) : setActive(webhook, true)),
            },
            {
              label: 'Delete',
              lowest: 'DEVELOPER',
              onClick: () => setOpened({ what: 'delete', webhook }),
              isDangerous: true,
            },
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
      {problem && <ProblemNotice problem={problem} onRetry={reload} />}
      {webhookId && linked.data && !loaded && <ProblemNotice problem={notFound('webhook')} />}
      {update.problem && <ProblemNotice problem={update.problem} />}
      {trial.problem && <ProblemNotice problem={trial.problem} />}
      <Panel flush>
        <FilterBar filters={filters} errors={atFilters} />
        <DataTable
          caption="Webhooks"
          columns={columns}
          rows={data?.project?.webhooks.nodes ?? (error ? null : undefined)}
          keyOf={({ id }) => id}
          empty={
            <NoMatches what="webhooks" filters={filters}>
              <EmptyState icon={IconWebhook} title="Add your first webhook" action={add}>
                Enter your server’s URL, and choose the events to send to it. If you don’t have a server yet, follow{' '}
                <Anchor href={docsUrl('first-webhook')} target="_blank" rel="noopener" size="sm" underline="always">
                  the tutorial
                </Anchor>
                .
              </EmptyState>
            </NoMatches>
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
              if (!opened.webhook) refresh();
            }}
          />
        )}
        {opened?.what === 'rotate' && (
          <RotateWebhookSecret
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
        Use this secret on your server to verify that requests come from Tollgate.
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
          onPause={
            opened.webhook.isPaused
              ? undefined
              : async () => {
                  if (await setPaused(opened.webhook, true)) close();
                }
          }
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
        This also deletes its deliveries, including those in progress. {DISABLE_INSTEAD}
      </ConfirmDialog>
    </Page>
  );
}
