import { Anchor, Badge, Code, Text } from '@mantine/core';
import { IconRepeat } from '@tabler/icons-react';
import { useQuery } from 'urql';
import { Link } from 'wouter';
import { ReplaysCursorDocument } from '../../../generated/console/live.ts';
import {
  FollowReplaysDocument,
  type ReplayListFilter,
  type ReplayRowFragment,
  ReplaysDocument,
} from '../../../generated/console/replays.ts';
import { useProject } from '../../parts/current-project.tsx';
import { type Column, DataTable, Pager } from '../../parts/data-table.tsx';
import { type Destination, useDestinations } from '../../parts/destinations.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { FilterBar, NoMatches } from '../../parts/filter-bar.tsx';
import { useChanges } from '../../parts/follow-changes.ts';
import { formatEnum } from '../../parts/format.ts';
import { Page, Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { Time } from '../../parts/time.tsx';
import { useListFilters } from '../../parts/use-list-filters.ts';
import { usePaging } from '../../parts/use-paging.ts';
import { describeFilter, describeProgress, REPLAY_STATUS_COLORS } from './describe.ts';

/** Every replay of the project. Running replays are also shown on the deliveries page, where replays are started. */
export function ReplaysPage() {
  const project = useProject();
  const filters = useListFilters<ReplayListFilter>('replays');
  const paging = usePaging();
  const destinations = useDestinations(project.id);
  const variables = { projectId: project.id, filter: filters.filter, ...paging.variables };
  const [{ data, error }, reload] = useQuery({ query: ReplaysDocument, variables, requestPolicy: 'cache-and-network' });
  const { atFilters, problem } = filters.split(error);
  useChanges({
    cursor: ReplaysCursorDocument,
    document: FollowReplaysDocument,
    variables: { projectId: project.id },
    cursorOf: ({ replayUpdated }) => replayUpdated?.cursor,
    onChange: () => reload({ requestPolicy: 'network-only' }),
  });
  const deliveriesPage = `/projects/${project.id}/deliveries`;
  return (
    <Page title="Replays" lead="Jobs that resend deliveries, and the progress of each one.">
      {problem && <ProblemNotice problem={problem} onRetry={reload} />}
      <Panel flush>
        <FilterBar filters={filters} errors={atFilters} />
        <DataTable
          caption="Replays"
          columns={columns(destinations)}
          rows={data?.project?.replays.nodes ?? (error ? null : undefined)}
          keyOf={({ id }) => id}
          empty={
            <NoMatches what="replays" filters={filters}>
              <EmptyState icon={IconRepeat} title="No replays yet">
                To send deliveries again, choose “Replay deliveries” on the{' '}
                <Anchor component={Link} href={deliveriesPage} size="sm" underline="always">
                  deliveries page
                </Anchor>
                .
              </EmptyState>
            </NoMatches>
          }
        />
        <Pager pageInfo={data?.project?.replays.pageInfo} paging={paging} />
      </Panel>
    </Page>
  );
}

const columns = (destinations: ReadonlyMap<string, Destination>): readonly Column<ReplayRowFragment>[] => [
  {
    title: 'Status',
    render: ({ status }) => <Badge color={REPLAY_STATUS_COLORS[status]}>{formatEnum(status)}</Badge>,
  },
  { title: 'Progress', render: (replay) => <Text size="sm">{describeProgress(replay)}</Text> },
  { title: 'Deliveries', render: (replay) => <Text size="sm">{describeFilter(replay, destinations)}</Text> },
  {
    title: 'Replay ID',
    render: ({ id }) => (
      <Code bg="transparent" p={0}>
        {id}
      </Code>
    ),
  },
  { title: 'Started', align: 'right', render: ({ createdAt }) => <Time iso={createdAt} /> },
];
