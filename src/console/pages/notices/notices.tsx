import { Anchor, Badge, Button, Group, SegmentedControl, Stack, Text } from '@mantine/core';
import { IconBell } from '@tabler/icons-react';
import { useMemo, useState } from 'react';
import { useQuery } from 'urql';
import { Link } from 'wouter';
import {
  FollowNoticesDocument,
  MarkNoticesReadDocument,
  type NoticeRowFragment,
  NoticesDocument,
} from '../../../generated/console/notices.ts';
import { toProblem } from '../../api/problem.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { useProject } from '../../parts/current-project.tsx';
import { type Column, DataTable, Pager, usePaging } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { useChanges } from '../../parts/follow-changes.ts';
import { formatCount } from '../../parts/format.ts';
import { Page, Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { Time } from '../../parts/time.tsx';
import { ContactsPanel } from './contacts.tsx';

const FILTERS = { all: {}, open: { isOpen: true }, unread: { isRead: false } } as const;
type Filter = keyof typeof FILTERS;

/** What stopped in the project, and who is notified about it. */
export function NoticesPage() {
  const project = useProject();
  const paging = usePaging();
  const [filter, setFilter] = useState<Filter>('all');
  const variables = { projectId: project.id, filter: FILTERS[filter], ...paging.variables };
  const [{ data, error }, reload] = useQuery({
    query: NoticesDocument,
    variables,
    requestPolicy: 'cache-and-network',
  });
  const refresh = () => reload({ requestPolicy: 'network-only' });
  useChanges(
    FollowNoticesDocument,
    useMemo(() => ({ projectId: project.id }), [project.id]),
    ({ noticeUpdated }) => noticeUpdated?.cursor,
    refresh,
  );
  const { submit, problem, isBusy } = useSubmit(MarkNoticesReadDocument);
  const markRead = async (ids?: string[]) => {
    if (await submit({ input: { projectId: project.id, ...(ids && { ids }) } })) refresh();
  };
  const shownProblem = problem ?? (error && toProblem(error));
  return (
    <Page
      title="Notices"
      lead="What stopped in this project, and what you can do about it."
      actions={
        <Button variant="default" loading={isBusy} onClick={() => markRead()}>
          Mark all as read
        </Button>
      }
    >
      {shownProblem && <ProblemNotice problem={shownProblem} onRetry={refresh} />}
      <SegmentedControl
        aria-label="Show"
        w="fit-content"
        value={filter}
        onChange={(value) => {
          paging.reset();
          setFilter(value as Filter);
        }}
        data={[
          { value: 'all', label: 'All' },
          { value: 'open', label: 'Open' },
          { value: 'unread', label: 'Unread' },
        ]}
      />
      <Panel flush>
        <DataTable
          caption="Notices"
          columns={columnsOf((id) => markRead([id]))}
          rows={data?.project?.notices.nodes ?? (error ? null : undefined)}
          keyOf={({ id }) => id}
          empty={
            <EmptyState icon={IconBell} title="No notices">
              If a webhook, a connector, your domain, or your payments stop, you see it here, and your contacts are
              notified.
            </EmptyState>
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
    render: ({ closedAt }) => <Badge color={closedAt ? 'gray' : 'orange'}>{closedAt ? 'Over' : 'Open'}</Badge>,
  },
  { title: 'Last', render: ({ lastAt }) => <Time iso={lastAt} /> },
  {
    title: 'Read',
    align: 'right',
    render: ({ id, title, readAt }) =>
      readAt ? null : (
        <Button variant="subtle" size="compact-xs" aria-label={`Mark as read: ${title}`} onClick={() => onRead(id)}>
          Mark as read
        </Button>
      ),
  },
];

/** The page within the console, whose address may differ from the one in the notice. */
function pageOf(url: string): string {
  const { pathname, search } = new URL(url, window.location.origin);
  return pathname.replace(/^.*?\/console(?=\/)/, '') + search;
}
