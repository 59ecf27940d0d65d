import { Anchor, Badge, Button, Code, Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconFolderPlus, IconPlus } from '@tabler/icons-react';
import { Suspense } from 'react';
import { useQuery } from 'urql';
import { Link, useLocation } from 'wouter';
import { ProjectsDocument, type ProjectsQuery } from '../../../generated/console/projects.ts';
import { toProblem } from '../../api/problem.ts';
import { Breakable } from '../../parts/breakable.tsx';
import { Copy } from '../../parts/copy-button.tsx';
import { type Column, DataTable, Pager } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { formatEnum, shortenAddress } from '../../parts/format.ts';
import { InvitationNotice } from '../../parts/invitation-notice.tsx';
import { lazyPart } from '../../parts/lazy-part.ts';
import { ModeBadge } from '../../parts/mode.tsx';
import { Page, Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { Time } from '../../parts/time.tsx';
import { useOpener } from '../../parts/use-opener.ts';
import { usePaging } from '../../parts/use-paging.ts';

/** Loaded on demand, since most visitors don't create a project. */
const CreateProjectDialog = lazyPart(() => import('./create-project.tsx'), 'CreateProjectDialog');

type Row = NonNullable<ProjectsQuery['projects']>['nodes'][number];

const COLUMNS: readonly Column<Row>[] = [
  {
    title: 'Name',
    render: ({ id, name, mode, viewerRole }) => (
      <Group gap="xs" wrap="nowrap">
        <Anchor component={Link} href={`/projects/${id}`} fw={600}>
          {name}
        </Anchor>
        <ModeBadge mode={mode} />
        {viewerRole && viewerRole !== 'OWNER' && <Badge color="gray">{formatEnum(viewerRole)}</Badge>}
      </Group>
    ),
  },
  {
    title: 'Wallet',
    render: ({ walletAddress }) => (
      <Group gap={4} wrap="nowrap">
        <Code bg="transparent" p={0}>
          {shortenAddress(walletAddress)}
        </Code>
        <Copy value={walletAddress} what="wallet address" />
      </Group>
    ),
  },
  {
    title: 'Project ID',
    render: ({ id }) => (
      <Group gap={4} wrap="nowrap">
        <Code bg="transparent" p={0}>
          <Breakable text={id} />
        </Code>
        <Copy value={id} what="project ID" />
      </Group>
    ),
  },
  { title: 'Created', align: 'right', render: ({ createdAt }) => <Time iso={createdAt} /> },
];

export function ProjectsPage() {
  const paging = usePaging();
  const [{ data, error }, reload] = useQuery({ query: ProjectsDocument, variables: paging.variables });
  const [isCreating, creating] = useDisclosure();
  useOpener('new', creating.open);
  const [, go] = useLocation();
  const create = (
    <Button leftSection={<IconPlus size={16} />} onClick={creating.open}>
      Add project
    </Button>
  );
  return (
    <Page
      title="Projects"
      lead="Each project has its own endpoints and a wallet that receives their payments."
      actions={create}
    >
      <InvitationNotice />
      {error && <ProblemNotice problem={toProblem(error)} onRetry={reload} />}
      <Panel flush>
        <DataTable
          caption="Projects"
          columns={COLUMNS}
          rows={data?.projects?.nodes ?? (error ? null : undefined)}
          keyOf={({ id }) => id}
          onOpen={({ id }) => go(`/projects/${id}`)}
          empty={
            <EmptyState icon={IconFolderPlus} title="Create your first project" action={create}>
              Choose a name and the wallet that receives payments. You can add endpoints, webhooks, and API keys next.
            </EmptyState>
          }
        />
        <Pager pageInfo={data?.projects?.pageInfo} paging={paging} />
      </Panel>
      <Suspense>{isCreating && <CreateProjectDialog onClose={creating.close} />}</Suspense>
    </Page>
  );
}
