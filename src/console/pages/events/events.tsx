import { Anchor, Badge, Code, Group } from '@mantine/core';
import { IconTimelineEvent } from '@tabler/icons-react';
import { Suspense, useState } from 'react';
import { useQuery } from 'urql';
import { Link, useLocation, useParams } from 'wouter';
import { EventsDocument, type EventsQuery, type EventType } from '../../../generated/console/events.ts';
import { toProblem } from '../../api/problem.ts';
import { Copy } from '../../parts/copy-button.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { type Column, DataTable, Pager, usePaging } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { EventTypesField } from '../../parts/event-types-field.tsx';
import { formatEventType } from '../../parts/format.ts';
import { lazyPart } from '../../parts/lazy-part.ts';
import { Page, Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { Time } from '../../parts/time.tsx';

const EventDrawer = lazyPart(() => import('./drawer.tsx'), 'EventDrawer');

type Row = NonNullable<EventsQuery['project']>['events']['nodes'][number];

export function EventsPage() {
  const project = useProject();
  const base = `/projects/${project.id}/events`;
  const { eventId } = useParams<{ eventId?: string }>();
  const [, go] = useLocation();
  const [types, setTypes] = useState<EventType[]>([]);
  const paging = usePaging();
  const variables = { projectId: project.id, ...(types.length > 0 && { types }), ...paging.variables };
  const [{ data, error }, reload] = useQuery({ query: EventsDocument, variables, requestPolicy: 'cache-and-network' });
  const columns: Column<Row>[] = [
    {
      title: 'Type',
      render: (row) => (
        <Group gap={6} wrap="nowrap">
          <Anchor component={Link} href={`${base}/${row.id}`}>
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
          <Code bg="transparent">{id}</Code>
          <Copy value={id} what="event ID" />
        </Group>
      ),
    },
    { title: 'Time', align: 'right', render: ({ timestamp }) => <Time iso={timestamp} /> },
  ];
  return (
    <Page title="Events" lead="Everything that happened in this project, as sent to webhooks and connectors.">
      {error && <ProblemNotice problem={toProblem(error)} onRetry={reload} />}
      <Panel flush>
        <Group p="md">
          <EventTypesField
            aria-label="Event types"
            size="xs"
            w={360}
            value={types}
            onChange={(values) => {
              paging.reset();
              setTypes(values as EventType[]);
            }}
          />
        </Group>
        <DataTable
          caption="Events"
          columns={columns}
          rows={data?.project?.events.nodes ?? (error ? null : undefined)}
          keyOf={({ id }) => id}
          onOpen={({ id }) => go(`${base}/${id}`)}
          empty={
            <EmptyState icon={IconTimelineEvent} title={types.length > 0 ? 'No matching events' : 'No events yet'}>
              {types.length > 0
                ? 'Choose other event types or clear the filter.'
                : 'Events appear here when you create an endpoint, a buyer pays, or you send a test event to a webhook.'}
            </EmptyState>
          }
        />
        <Pager pageInfo={data?.project?.events.pageInfo} paging={paging} />
      </Panel>
      <Suspense>{eventId && <EventDrawer eventId={eventId} onClose={() => go(base)} />}</Suspense>
    </Page>
  );
}
