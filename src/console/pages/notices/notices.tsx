import { Anchor, Badge, Button, Group, Stack, Text } from '@mantine/core';
import { IconBell } from '@tabler/icons-react';
import { useQuery } from 'urql';
import { Link } from 'wouter';
import { NoticesCursorDocument } from '../../../generated/console/live.ts';
import {
  FollowNoticesDocument,
  MarkNoticesReadDocument,
  type NoticeFilter,
  type NoticeRowFragment,
  NoticesDocument,
} from '../../../generated/console/notices.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { useProject } from '../../parts/current-project.tsx';
import { type Column, DataTable, Pager } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { FilterBar, NoMatches } from '../../parts/filter-bar.tsx';
import { useChanges } from '../../parts/follow-changes.ts';
import { formatCount } from '../../parts/format.ts';
import { Page, Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { ActionForRole } from '../../parts/role.tsx';
import { Time } from '../../parts/time.tsx';
import { useListFilters } from '../../parts/use-list-filters.ts';
import { usePaging } from '../../parts/use-paging.ts';
import { ContactsPanel } from './contacts.tsx';

/** The project's notices and its contacts. */
export function NoticesPage() {
  const project = useProject();
  const filters = useListFilters<NoticeFilter>('notices');
  const paging = usePaging();
  const variables = { projectId: project.id, filter: filters.filter, ...paging.variables };
  const [{ data, error }, reload] = useQuery({
    query: NoticesDocument,
    variables,
    requestPolicy: 'cache-and-network',
  });
  const refresh = () => reload({ requestPolicy: 'network-only' });
  useChanges({
    cursor: NoticesCursorDocument,
    document: FollowNoticesDocument,
    variables: { projectId: project.id },
    cursorOf: ({ noticeUpdated }) => noticeUpdated?.cursor,
    onChange: refresh,
  });
  const { submit, problem, isBusy } = useSubmit(MarkNoticesReadDocument);
  const markRead = async (ids?: string[]) => {
    if (await submit({ input: { projectId: project.id, ...(ids && { ids }) } })) refresh();
  };
  const { atFilters, problem: listProblem } = filters.split(error);
  const shownProblem = problem ?? listProblem;
  return (
    <Page
      title="Notices"
      lead="What stopped working in this project, and what you can do about it."
      actions={
        <ActionForRole lowest="DEVELOPER">
          <Button variant="default" loading={isBusy} onClick={() => markRead()}>
            Mark all as read
          </Button>
        </ActionForRole>
      }
    >
      {shownProblem && <ProblemNotice problem={shownProblem} onRetry={refresh} />}
      <Panel flush>
        <FilterBar filters={filters} errors={atFilters} />
        <DataTable
          caption="Notices"
          columns={columnsOf((id) => markRead([id]))}
          rows={data?.project?.notices.nodes ?? (error ? null : undefined)}
          keyOf={({ id }) => id}
          empty={
            <NoMatches what="notices" filters={filters}>
              <EmptyState icon={IconBell} title="No notices">
                If a webhook, a connector, your domain, or your payments stop working, a notice appears here and your
                contacts are notified.
              </EmptyState>
            </NoMatches>
          }
        />
        <Pager pageInfo={data?.project?.notices.pageInfo} paging={paging} />
      </Panel>
      <ContactsPanel />
    </Page>
  );
}

const columnsOf = (onRead: (id: string) => void): readonly Column<NoticeRowFragment>[] => [
  {
    title: 'Notice',
    render: ({ title, cause, advice, url, count, readAt }) => (
      <Stack gap={2}>
        <Group gap={6}>
          <Anchor component={Link} href={pageOf(url)} size="sm" fw={readAt ? 400 : 700}>
            {title}
          </Anchor>
          {count > 1 && <Badge color="gray">{formatCount(count)}×</Badge>}
        </Group>
        <Text size="sm" c="dimmed">
          {cause} {advice}
        </Text>
      </Stack>
    ),
  },
  {
    title: 'Status',
    render: ({ closedAt }) => <Badge color={closedAt ? 'gray' : 'orange'}>{closedAt ? 'Resolved' : 'Open'}</Badge>,
  },
  { title: 'Last seen', render: ({ lastAt }) => <Time iso={lastAt} /> },
  {
    title: 'Read',
    align: 'right',
    render: ({ id, title, readAt }) =>
      readAt ? null : (
        <ActionForRole lowest="DEVELOPER">
          <Button variant="subtle" size="compact-xs" aria-label={`Mark as read: ${title}`} onClick={() => onRead(id)}>
            Mark as read
          </Button>
        </ActionForRole>
      ),
  },
];

/** The path within the console. The console's address may differ from the one in the notice. */
function pageOf(url: string): string {
  const { pathname, search } = new URL(url, window.location.origin);
  return pathname.replace(/^.*?\/console(?=\/)/, '') + search;
}
