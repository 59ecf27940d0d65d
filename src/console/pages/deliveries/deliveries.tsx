import { Button, Code, Text, UnstyledButton } from '@mantine/core';
import { IconPlayerPause, IconPlayerPlay, IconRefresh, IconSend } from '@tabler/icons-react';
import { Suspense, useState } from 'react';
import { useLocation, useParams, useSearch } from 'wouter';
import type { DeliveryFilter } from '../../../generated/console/deliveries.ts';
import { toProblem } from '../../api/problem.ts';
import { useProject } from '../../parts/current-project.tsx';
import { type Column, DataTable, Pager, usePaging } from '../../parts/data-table.tsx';
import { DeliveryStatusBadge } from '../../parts/delivery-status.tsx';
import { type Destination, useDestinations } from '../../parts/destinations.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { formatEventType, formatMilliseconds } from '../../parts/format.ts';
import { lazyPart } from '../../parts/lazy-part.ts';
import { LiveBadge } from '../../parts/live-badge.tsx';
import { Page, Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { Time } from '../../parts/time.tsx';
import { DeliveryFilterBar, useDeliveryFilters } from '../replays/filters.tsx';
import { ReplayProgress } from '../replays/progress.tsx';
import { useReplays } from '../replays/replays.ts';
import { type DeliveryRow, useDeliveryFeed } from './feed.ts';
import { FilteredOut } from './filtered-out.tsx';

const ReplayDialog = lazyPart(() => import('../replays/dialog.tsx'), 'ReplayDialog');
const DeliveryDrawer = lazyPart(() => import('./drawer.tsx'), 'DeliveryDrawer');

const PAGE_SIZE = 50;

export function DeliveriesPage() {
  const project = useProject();
  const { deliveryId } = useParams<{ deliveryId?: string }>();
  const [, go] = useLocation();
  const search = useSearch();
  const [filters, setFilters] = useDeliveryFilters();
  const [isReplaying, setReplaying] = useState(() => new URLSearchParams(search).has('replay'));
  const { status, eventTypes, destinationId } = filters;
  const paging = usePaging(PAGE_SIZE);
  const destinations = useDestinations(project.id);
  const { replays, show: showReplay } = useReplays(project.id);
  const filter: DeliveryFilter = {
    status: status.length > 0 ? status : null,
    eventTypes: eventTypes.length > 0 ? eventTypes : null,
  };
  const feed = useDeliveryFeed({
    projectId: project.id,
    filter,
    window: paging.variables,
    destination: destinationId === null ? undefined : destinations.get(destinationId),
    matches: (row) =>
      (status.length === 0 || status.includes(row.status)) &&
      (eventTypes.length === 0 || eventTypes.includes(row.eventType)) &&
      (destinationId === null || destinationOf(row) === destinationId),
  });
  const base = `/projects/${project.id}/deliveries`;
  const withFilters = (path: string) => (search ? `${path}?${search}` : path);
  const open = ({ id }: DeliveryRow) => go(withFilters(`${base}/${id}`));
  const isPaused = feed.state === 'paused';
  const isFiltered = status.length + eventTypes.length > 0 || destinationId !== null;
  return (
    <Page
      title="Deliveries"
      lead="Deliveries to your webhooks and connectors, updated in real time."
      actions={
        <>
          <LiveBadge state={feed.state} />
          <Button
            variant="default"
            size="xs"
            leftSection={<IconRefresh size={14} />}
            onClick={() => setReplaying(true)}
          >
            Replay deliveries
          </Button>
          <Button
            variant="default"
            size="xs"
            leftSection={isPaused ? <IconPlayerPlay size={14} /> : <IconPlayerPause size={14} />}
            onClick={() => feed.pause(!isPaused)}
          >
            {isPaused ? `Resume${feed.heldCount > 0 ? ` (${feed.heldCount} new)` : ''}` : 'Pause'}
          </Button>
        </>
      }
    >
      <ReplayProgress replays={replays} destinations={destinations} onChange={showReplay} />
      <DeliveryFilterBar
        filters={filters}
        destinations={destinations}
        onChange={(changed) => {
          setFilters(changed);
          paging.reset();
        }}
      />
      {destinationId !== null && <FilteredOut projectId={project.id} destinationId={destinationId} />}
      {feed.error && <ProblemNotice problem={toProblem(feed.error)} onRetry={feed.reload} />}
      <Panel flush>
        <DataTable
          caption="Deliveries"
          columns={columns(destinations, open)}
          rows={feed.rows ?? (feed.error ? null : undefined)}
          keyOf={({ id }) => id}
          onOpen={open}
          classNameOf={({ id }) => (feed.arrived.has(id) ? 'row-new' : undefined)}
          empty={isFiltered ? <NoMatches /> : <NoDeliveries projectId={project.id} />}
        />
        <Pager pageInfo={feed.pageInfo} paging={paging} />
      </Panel>
      <Suspense>
        {isReplaying && (
          <ReplayDialog
            filters={filters}
            destinations={destinations}
            onStarted={(replay) => {
              showReplay(replay);
              setReplaying(false);
            }}
            onClose={() => setReplaying(false)}
          />
        )}
        {deliveryId && (
          <DeliveryDrawer
            deliveryId={deliveryId}
            latest={feed.arrived.get(deliveryId)}
            destinations={destinations}
            onResent={(row) => feed.show([row])}
            onClose={() => go(withFilters(base))}
          />
        )}
      </Suspense>
    </Page>
  );
}

const destinationOf = ({ webhookId, connectorId }: DeliveryRow) => webhookId ?? connectorId ?? '';

function columns(
  destinations: ReadonlyMap<string, Destination>,
  open: (row: DeliveryRow) => void,
): readonly Column<DeliveryRow>[] {
  return [
    {
      title: 'Status',
      width: 130,
      render: ({ status, attemptCount }) => <DeliveryStatusBadge status={status} isRetrying={attemptCount > 0} />,
    },
    {
      title: 'Event',
      render: (row) => (
        <UnstyledButton
          className="link"
          onClick={() => open(row)}
          aria-label={`Open ${formatEventType(row.eventType)}`}
        >
          <Code bg="transparent" p={0} fz="sm">
            {formatEventType(row.eventType)}
          </Code>
        </UnstyledButton>
      ),
    },
    {
      title: 'Destination',
      render: (row) => (
        <Text size="sm" truncate maw={300}>
          {destinations.get(destinationOf(row))?.name ?? destinationOf(row)}
        </Text>
      ),
    },
    { title: 'Response', width: 150, render: (row) => <ResponseCell row={row} /> },
    {
      title: 'Response time',
      align: 'right',
      width: 90,
      render: ({ responseTimeMs }) => (responseTimeMs == null ? '–' : formatMilliseconds(responseTimeMs)),
    },
    { title: 'Attempts', align: 'right', width: 80, render: ({ attemptCount }) => attemptCount },
    { title: 'Created', align: 'right', width: 110, render: ({ createdAt }) => <Time iso={createdAt} /> },
  ];
}

/** The response status, or why there was no response. */
function ResponseCell({ row: { statusCode, errorClass, reason, status } }: { row: DeliveryRow }) {
  if (statusCode != null) return <Code>{statusCode}</Code>;
  const word = errorClass ?? (status === 'SKIPPED' ? reason : undefined);
  return (
    <Text size="xs" c="dimmed" truncate maw={150}>
      {word ?? '–'}
    </Text>
  );
}

function NoMatches() {
  return (
    <EmptyState icon={IconSend} title="No matching deliveries">
      No deliveries match these filters. New ones appear automatically.
    </EmptyState>
  );
}

function NoDeliveries({ projectId }: { projectId: string }) {
  return (
    <EmptyState
      icon={IconSend}
      title="No deliveries yet"
      command={[
        `curl -X POST ${window.location.origin}/api/projects/${projectId}/webhooks \\`,
        `  -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\`,
        `  -d '{"url": "https://your-server.example/hook", "eventTypes": ["*"]}'`,
      ].join('\n')}
    >
      Add a webhook or connector to see deliveries here. To create a webhook for all events, run this in a terminal:
    </EmptyState>
  );
}
