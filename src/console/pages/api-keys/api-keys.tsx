import { Badge, Button, Code, Text, Tooltip } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconKey, IconPlus } from '@tabler/icons-react';
import { Suspense, useState } from 'react';
import { useQuery } from 'urql';
import { type ApiKeyFilter, ApiKeysDocument, RevokeApiKeyDocument } from '../../../generated/console/api-keys.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { ConfirmDialog } from '../../parts/confirm.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { type Column, DataTable, Pager } from '../../parts/data-table.tsx';
import { draftOf } from '../../parts/drafts.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { FilterBar, NoMatches } from '../../parts/filter-bar.tsx';
import { formatEnum } from '../../parts/format.ts';
import { lazyPart } from '../../parts/lazy-part.ts';
import { Page, Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { ActionForRole, useRoleObstacle } from '../../parts/role.tsx';
import { SecretDialog } from '../../parts/secret-dialog.tsx';
import { Time } from '../../parts/time.tsx';
import { useListFilters } from '../../parts/use-list-filters.ts';
import { useOpener } from '../../parts/use-opener.ts';
import { usePaging } from '../../parts/use-paging.ts';
import { KEY_DRAFT } from './draft.ts';
import { type ApiKeyRow, keyStatus } from './key-status.ts';

const CreateApiKeyDialog = lazyPart(() => import('./create-api-key.tsx'), 'CreateApiKeyDialog');

const COLUMNS: readonly Column<ApiKeyRow>[] = [
  { title: 'Name', render: ({ name }) => name },
  {
    title: 'Key',
    render: ({ prefix, last4 }) => (
      <Code bg="transparent" p={0} style={{ whiteSpace: 'nowrap' }}>{`${prefix}…${last4}`}</Code>
    ),
  },
  {
    title: 'Environment',
    render: ({ environment }) => (
      <Badge color={environment === 'LIVE' ? 'teal' : 'gray'}>{formatEnum(environment)}</Badge>
    ),
  },
  { title: 'Scopes', render: (row) => <KeyScopes row={row} /> },
  { title: 'Status', render: (row) => <KeyStatus row={row} /> },
  { title: 'Expires', render: ({ expiresAt }) => (expiresAt ? <Time iso={expiresAt} /> : 'Never') },
  { title: 'Last used', render: ({ lastUsedAt }) => (lastUsedAt ? <Time iso={lastUsedAt} /> : 'Never') },
  { title: 'Created', align: 'right', render: ({ createdAt }) => <Time iso={createdAt} /> },
];

function KeyScopes({ row: { scopes, allowedAddresses } }: { row: ApiKeyRow }) {
  return (
    <>
      {scopes.map(formatEnum).join(', ')}
      {allowedAddresses.length > 0 && (
        <Text size="xs" c="dimmed">
          Only from {allowedAddresses.join(', ')}
        </Text>
      )}
    </>
  );
}

function KeyStatus({ row }: { row: ApiKeyRow }) {
  const { word, color, why } = keyStatus(row);
  const badge = <Badge color={color}>{word}</Badge>;
  return why ? <Tooltip label={why}>{badge}</Tooltip> : badge;
}

export function ApiKeysPage() {
  const project = useProject();
  const filters = useListFilters<ApiKeyFilter>('keys');
  const paging = usePaging();
  const [isCreating, creating] = useDisclosure(draftOf(KEY_DRAFT) !== undefined);
  useOpener('new', creating.open, useRoleObstacle('ADMIN'));
  const [secret, setSecret] = useState<string>();
  const [revoked, setRevoked] = useState<ApiKeyRow>();
  const revocation = useSubmit(RevokeApiKeyDocument);
  const [{ data, error }, reload] = useQuery({
    query: ApiKeysDocument,
    variables: { projectId: project.id, filter: filters.filter, ...paging.variables },
  });
  const { atFilters, problem } = filters.split(error);
  const refresh = () => reload({ requestPolicy: 'network-only' });
  const create = (
    <ActionForRole lowest="ADMIN">
      <Button leftSection={<IconPlus size={16} />} onClick={creating.open}>
        Create API key
      </Button>
    </ActionForRole>
  );
  const actions: Column<ApiKeyRow> = {
    title: 'Actions',
    align: 'right',
    width: 100,
    render: (row) => (
      <ActionForRole lowest="ADMIN">
        <Button
          size="compact-xs"
          variant="subtle"
          color="red"
          onClick={() => setRevoked(row)}
          aria-label={`Revoke ${row.name}`}
        >
          Revoke
        </Button>
      </ActionForRole>
    ),
  };
  return (
    <Page
      title="API keys"
      lead="Credentials for your programs. Each key works only in this project, and can do only what its scopes allow."
      actions={create}
    >
      {problem && <ProblemNotice problem={problem} onRetry={reload} />}
      <Panel flush>
        <FilterBar filters={filters} errors={atFilters} />
        <DataTable
          caption="API keys"
          columns={[...COLUMNS, actions]}
          rows={data?.project?.apiKeys.nodes ?? (error ? null : undefined)}
          keyOf={({ id }) => id}
          empty={
            <NoMatches what="API keys" filters={filters}>
              <EmptyState icon={IconKey} title="Create your first API key" action={create}>
                Use the key to call the API with <Code>Authorization: Bearer tg_…</Code>. You can revoke a key at any
                time.
              </EmptyState>
            </NoMatches>
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
        Tollgate stores only a hash of the key. Anyone who has this key can do what its scopes allow.
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
