import { Anchor, Badge, Code, Group } from '@mantine/core';
import { IconTimelineEvent } from '@tabler/icons-react';
import { Suspense } from 'react';
import { useQuery } from 'urql';
import { Link, useLocation, useParams } from 'wouter';
import { type EventFilter, EventsDocument, type EventsQuery } from '../../../generated/console/events.ts';
import { Breakable } from '../../parts/breakable.tsx';
import { Copy } from '../../parts/copy-button.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { type Column, DataTable, Pager } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { ExportMenu } from '../../parts/export-menu.tsx';
import { FilterBar, NoMatches } from '../../parts/filter-bar.tsx';
import { formatEventType } from '../../parts/format.ts';
import { useSteps } from '../../parts/item-steps.tsx';
import { lazyPart } from '../../parts/lazy-part.ts';
import { Page, Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { Time } from '../../parts/time.tsx';
import { useListFilters } from '../../parts/use-list-filters.ts';
import { usePaging } from '../../parts/use-paging.ts';

const EventDrawer = lazyPart(() => import('./drawer.tsx'), 'EventDrawer');

type Row = NonNullable<EventsQuery['project']>['events']['nodes'][number];

export function EventsPage() {
  const project = useProject();
  const base = `/projects/${project.id}/events`;
  const { eventId } = useParams<{ eventId?: string }>();
  const [, go] = useLocation();
  const filters = useListFilters<EventFilter>('events');
  const paging = usePaging();
  const variables = { projectId: project.id, filter: filters.filter, ...paging.variables };
  const [{ data, error }, reload] = useQuery({ query: EventsDocument, variables, requestPolicy: 'cache-and-network' });
  const { atFilters, problem } = filters.split(error);
  const pageOf = (id: string) => filters.keepIn(`${base}/${id}`);
  const events = data?.project?.events;
  const steps = useSteps({
    ids: events?.nodes.map(({ id }) => id) ?? [],
    openId: eventId,
    pageInfo: events?.pageInfo,
    paging,
    onOpen: (id) => go(pageOf(id), { replace: true }),
  });
  const columns: Column<Row>[] = [
    {
      title: 'Type',
      render: (row) => (
        <Group gap={6} wrap="nowrap">
          <Anchor component={Link} href={pageOf(row.id)}>
            {formatEventType(row.type)}
          </Anchor>
          {row.test && <Badge color="gray">Test</Badge>}
        </Group>
      ),
    },
    {
      title: 'Event ID',
      render: ({ id }) => (
        <Group gap={4} wrap="nowrap">
          <Code bg="transparent" p={0}>
            <Breakable text={id} />
          </Code>
          <Copy value={id} what="event ID" />
        </Group>
      ),
    },
    { title: 'Time', align: 'right', render: ({ timestamp }) => <Time iso={timestamp} /> },
  ];
  return (
    <Page
      title="Events"
      lead="Everything that has happened in this project, as sent to webhooks and connectors."
      actions={<ExportMenu what="events" filters={filters.exported} />}
    >
      {problem && <ProblemNotice problem={problem} onRetry={reload} />}
      <Panel flush>
        <FilterBar filters={filters} errors={atFilters} />
        <DataTable
          caption="Events"
          columns={columns}
          rows={events?.nodes ?? (error ? null : undefined)}
          keyOf={({ id }) => id}
          onOpen={({ id }) => go(pageOf(id))}
          empty={
            <NoMatches what="events" filters={filters}>
              <EmptyState icon={IconTimelineEvent} title="No events yet">
                Events appear here when you create an endpoint, a buyer pays, or you send a test event to a webhook.
              </EmptyState>
            </NoMatches>
          }
        />
        <Pager pageInfo={events?.pageInfo} paging={paging} />
      </Panel>
      <Suspense>
        {eventId && <EventDrawer eventId={eventId} steps={steps} onClose={() => go(filters.keepIn(base))} />}
      </Suspense>
    </Page>
  );
}
