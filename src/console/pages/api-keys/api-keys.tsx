import { Badge, Button, Code, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconKey, IconPlus } from '@tabler/icons-react';
import { Suspense, useState } from 'react';
import { useQuery } from 'urql';
import { ApiKeysDocument, type ApiKeysQuery, RevokeApiKeyDocument } from '../../../generated/console/api-keys.ts';
import { toProblem } from '../../api/problem.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { ConfirmDialog } from '../../parts/confirm.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { type Column, DataTable, Pager, usePaging } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { formatEnum } from '../../parts/format.ts';
import { lazyPart } from '../../parts/lazy-part.ts';
import { Page, Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { SecretDialog } from '../../parts/secret-dialog.tsx';
import { Time } from '../../parts/time.tsx';

const CreateApiKeyDialog = lazyPart(() => import('./create-api-key.tsx'), 'CreateApiKeyDialog');

type Row = NonNullable<ApiKeysQuery['project']>['apiKeys']['nodes'][number];

const COLUMNS: readonly Column<Row>[] = [
  { title: 'Name', render: ({ name }) => name },
  { title: 'Key', render: ({ prefix, last4 }) => <Code bg="transparent">{`${prefix}…${last4}`}</Code> },
  {
    title: 'Environment',
    render: ({ environment }) => (
      <Badge color={environment === 'LIVE' ? 'teal' : 'gray'}>{formatEnum(environment)}</Badge>
    ),
  },
  { title: 'Last used', render: ({ lastUsedAt }) => (lastUsedAt ? <Time iso={lastUsedAt} /> : 'Never') },
  { title: 'Created', align: 'right', render: ({ createdAt }) => <Time iso={createdAt} /> },
];

export function ApiKeysPage() {
  const project = useProject();
  const paging = usePaging();
  const [isCreating, creating] = useDisclosure();
  const [secret, setSecret] = useState<string>();
  const [revoked, setRevoked] = useState<Row>();
  const revocation = useSubmit(RevokeApiKeyDocument);
  const [{ data, error }, reload] = useQuery({
    query: ApiKeysDocument,
    variables: { projectId: project.id, ...paging.variables },
  });
  const refresh = () => reload({ requestPolicy: 'network-only' });
  const create = (
    <Button leftSection={<IconPlus size={16} />} onClick={creating.open}>
      Create API key
    </Button>
  );
  const actions: Column<Row> = {
    title: 'Actions',
    align: 'right',
    width: 100,
    render: (row) => (
      <Button
        size="compact-xs"
        variant="subtle"
        color="red"
        onClick={() => setRevoked(row)}
        aria-label={`Revoke ${row.name}`}
      >
        Revoke
      </Button>
    ),
  };
  return (
    <Page
      title="API keys"
      lead="Credentials for your programs. Each key can read and change only this project."
      actions={create}
    >
      {error && <ProblemNotice problem={toProblem(error)} onRetry={reload} />}
      <Panel flush>
        <DataTable
          caption="API keys"
          columns={[...COLUMNS, actions]}
          rows={data?.project?.apiKeys.nodes ?? (error ? null : undefined)}
          keyOf={({ id }) => id}
          empty={
            <EmptyState icon={IconKey} title="Create your first API key" action={create}>
              Use it to call the API with <Code>Authorization: Bearer tg_…</Code>. You can revoke a key at any time.
            </EmptyState>
          }
        />
        <Pager pageInfo={data?.project?.apiKeys.pageInfo} paging={paging} />
      </Panel>
      <Suspense>
        {isCreating && (
          <CreateApiKeyDialog
            onClose={creating.close}
            onCreated={(key) => {
              creating.close();
              setSecret(key);
              refresh();
            }}
          />
        )}
      </Suspense>
      <SecretDialog secret={secret} title="Your new API key" onClose={() => setSecret(undefined)}>
        Tollgate stores only a hash of it. Anyone with this key can read and change this project.
      </SecretDialog>
      <ConfirmDialog
        isOpen={revoked !== undefined}
        title="Revoke API key"
        action="Revoke"
        isBusy={revocation.isBusy}
        problem={revocation.problem}
        onClose={() => setRevoked(undefined)}
        onConfirm={async () => {
          if (!revoked || !(await revocation.submit({ input: { id: revoked.id } }))) return;
          setRevoked(undefined);
          refresh();
        }}
      >
        <Text size="sm">
          Requests that use <strong>{revoked?.name}</strong> will start failing immediately. This can’t be undone.
        </Text>
      </ConfirmDialog>
    </Page>
  );
}
