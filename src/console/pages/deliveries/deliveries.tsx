import { Button, Code, Group, Text, UnstyledButton } from '@mantine/core';
import { IconPlayerPause, IconPlayerPlay, IconRefresh, IconSend } from '@tabler/icons-react';
import { Suspense, useState } from 'react';
import { Link, useLocation, useParams } from 'wouter';
import type { DeliveryFilter } from '../../../generated/console/deliveries.ts';
import { Breakable } from '../../parts/breakable.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { type Column, DataTable, Pager } from '../../parts/data-table.tsx';
import { DeliveryStatusBadge } from '../../parts/delivery-status.tsx';
import { type Destination, useDestinations } from '../../parts/destinations.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { ExportMenu } from '../../parts/export-menu.tsx';
import { FilterBar, NoMatches } from '../../parts/filter-bar.tsx';
import { formatEventType, formatMilliseconds } from '../../parts/format.ts';
import { useSteps } from '../../parts/item-steps.tsx';
import { lazyPart } from '../../parts/lazy-part.ts';
import { LiveBadge } from '../../parts/live-badge.tsx';
import { Page, Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { ActionForRole } from '../../parts/role.tsx';
import { Time } from '../../parts/time.tsx';
import { useListFilters } from '../../parts/use-list-filters.ts';
import { useOpener } from '../../parts/use-opener.ts';
import { usePaging } from '../../parts/use-paging.ts';
import { ReplayProgress } from '../replays/progress.tsx';
import { useReplays } from '../replays/use-replays.ts';
import { type DeliveryRow, useDeliveryFeed } from './feed.ts';
import { FilteredOut } from './filtered-out.tsx';
import { SelectionBar } from './selection.tsx';

const ReplayDialog = lazyPart(() => import('../replays/dialog.tsx'), 'ReplayDialog');
const ResendDialog = lazyPart(() => import('./resend-dialog.tsx'), 'ResendDialog');
const DeliveryDrawer = lazyPart(() => import('./drawer.tsx'), 'DeliveryDrawer');

const PAGE_SIZE = 50;

export function DeliveriesPage() {
  const project = useProject();
  const { deliveryId } = useParams<{ deliveryId?: string }>();
  const [, go] = useLocation();
  const filters = useListFilters<DeliveryFilter>('deliveries');
  const [isReplaying, setReplaying] = useState(false);
  useOpener('replay', () => setReplaying(true));
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [isResending, setResending] = useState(false);
  const [destinationId] = filters.values.destination ?? [];
  const paging = usePaging(PAGE_SIZE);
  const destinations = useDestinations(project.id);
  const { replays, show: showReplay } = useReplays(project.id);
  const feed = useDeliveryFeed({
    projectId: project.id,
    filter: filters.filter,
    window: paging.variables,
  });
  const { atFilters, problem } = filters.split(feed.error);
  const base = `/projects/${project.id}/deliveries`;
  const open = ({ id }: DeliveryRow) => go(filters.keepIn(`${base}/${id}`));
  const steps = useSteps({
    ids: feed.rows?.map(({ id }) => id) ?? [],
    openId: deliveryId,
    pageInfo: feed.pageInfo,
    paging,
    // Going back closes the drawer, instead of opening the previous delivery again.
    onOpen: (id) => go(filters.keepIn(`${base}/${id}`), { replace: true }),
  });
  // Only the rows that are still visible, because live updates push rows off the page.
  const selected = (feed.rows ?? []).filter(({ id }) => chosen.has(id)).map(({ id }) => id);
  const isPaused = feed.state === 'paused';
  return (
    <Page
      title="Deliveries"
      lead="Deliveries to your webhooks and connectors, updated in real time."
      actions={
        <>
          <LiveBadge state={feed.state} />
          <ExportMenu what="deliveries" filters={filters.exported} />
          <ActionForRole lowest="DEVELOPER">
            <Button
              variant="default"
              size="xs"
              leftSection={<IconRefresh size={14} />}
              onClick={() => setReplaying(true)}
            >
              Replay deliveries
            </Button>
          </ActionForRole>
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
      {destinationId && <FilteredOut projectId={project.id} destinationId={destinationId} />}
      {problem && <ProblemNotice problem={problem} onRetry={feed.reload} />}
      <Panel flush>
        <FilterBar filters={filters} errors={atFilters} destinations={destinations} />
        <SelectionBar
          count={selected.length}
          onResend={() => setResending(true)}
          onClear={() => setChosen(new Set())}
        />
        <DataTable
          caption="Deliveries"
          selection={{
            selected: chosen,
            onChange: setChosen,
            nameOf: ({ eventType, id }) => `${formatEventType(eventType)} ${id}`,
          }}
          columns={columns(destinations, open)}
          rows={feed.rows ?? (feed.error ? null : undefined)}
          keyOf={({ id }) => id}
          onOpen={open}
          classNameOf={({ id }) => (feed.arrived.has(id) ? 'row-new' : undefined)}
          empty={
            <NoMatches what="deliveries" filters={filters}>
              <NoDeliveries projectId={project.id} />
            </NoMatches>
          }
        />
        <Pager pageInfo={feed.pageInfo} paging={paging} />
      </Panel>
      <Suspense>
        {isReplaying && (
          <ReplayDialog
            filters={filters.values}
            destinations={destinations}
            onStarted={(replay) => {
              showReplay(replay);
              setReplaying(false);
            }}
            onClose={() => setReplaying(false)}
          />
        )}
        {isResending && (
          <ResendDialog
            deliveryIds={selected}
            onStarted={(replay) => {
              showReplay(replay);
              setChosen(new Set());
              setResending(false);
            }}
            onClose={() => setResending(false)}
          />
        )}
        {deliveryId && (
          <DeliveryDrawer
            deliveryId={deliveryId}
            latest={feed.arrived.get(deliveryId)}
            destinations={destinations}
            steps={steps}
            onResent={(row) => feed.show([row])}
            onClose={() => go(filters.keepIn(base))}
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
      render: (row) => <DeliveryStatusBadge delivery={row} />,
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
        <Text size="sm">
          <Breakable text={destinations.get(destinationOf(row))?.name ?? destinationOf(row)} />
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

function NoDeliveries({ projectId }: { projectId: string }) {
  return (
    <EmptyState
      icon={IconSend}
      title="No deliveries yet"
      action={
        <Group gap="sm" justify="center">
          <Button component={Link} href={`/projects/${projectId}/webhooks`} variant="default">
            Open webhooks
          </Button>
          <Button component={Link} href={`/projects/${projectId}/connectors`} variant="default">
            Open connectors
          </Button>
        </Group>
      }
    >
      Each event that is sent to a webhook or connector appears here. To see one now, add a webhook and send it a test
      event.
    </EmptyState>
  );
}
