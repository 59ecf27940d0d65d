import { useCallback, useRef, useState } from 'react';
import { useQuery } from 'urql';
import {
  DeliveriesDocument,
  type DeliveryFilter,
  type DeliveryRowFragment,
  FollowDeliveriesDocument,
} from '../../../generated/console/deliveries.ts';
import { DeliveriesCursorDocument } from '../../../generated/console/live.ts';
import { useFollow } from '../../api/use-follow.ts';
import type { PageWindow } from '../../parts/use-paging.ts';

export type DeliveryRow = DeliveryRowFragment;

/** The number of live rows to keep. Older ones are on the next page. */
const MAX_ROWS = 100;

/**
 * A page of deliveries with live updates. On the first page, new deliveries appear at the top. On other pages, and while
 * paused, no rows are added.
 */
export function useDeliveryFeed(options: { projectId: string; filter: DeliveryFilter; window: PageWindow }) {
  const { projectId, filter, window } = options;
  const { page, error, reload } = useDeliveryPage(projectId, { filter, ...window });
  const [arrived, setArrived] = useState<ReadonlyMap<string, DeliveryRow>>(new Map());
  const [isPaused, setPaused] = useState(false);
  const held = useRef(new Map<string, DeliveryRow>());
  const [heldCount, setHeldCount] = useState(0);

  const show = useCallback((rows: Iterable<DeliveryRow>) => {
    setArrived((before) => {
      const all = new Map(before);
      for (const row of rows) all.set(row.id, newest(all.get(row.id), row));
      const kept = [...all.values()].sort(newestFirst).slice(0, MAX_ROWS);
      return new Map(kept.map((row) => [row.id, row]));
    });
  }, []);

  const state = useFollow({
    cursor: DeliveriesCursorDocument,
    document: FollowDeliveriesDocument,
    variables: { projectId, filter: { eventTypes: filter.eventTypes ?? null } },
    onData({ deliveryUpdated }) {
      if (!deliveryUpdated) return undefined;
      const { cursor, delivery } = deliveryUpdated;
      if (isPaused) {
        held.current.set(delivery.id, newest(held.current.get(delivery.id), delivery));
        setHeldCount(held.current.size);
      } else show([delivery]);
      return cursor;
    },
    onStart() {
      // A paused page adds no rows. It is loaded again when it is resumed.
      if (!isPaused) reload();
    },
  });

  function pause(paused: boolean): void {
    setPaused(paused);
    if (paused) return;
    // This is a copy, because React may not read it until after the original is cleared.
    show([...held.current.values()]);
    held.current.clear();
    setHeldCount(0);
    reload();
  }

  const isFirstPage = !window.after && window.last === undefined;
  return {
    rows: page && merge(page.nodes, arrived, isFirstPage).filter((row) => matches(row, filter)),
    arrived,
    pageInfo: page?.pageInfo,
    error,
    reload,
    state: isPaused ? ('paused' as const) : state,
    pause,
    heldCount,
    show,
  };
}

/** A page of the delivery history. */
function useDeliveryPage(projectId: string, query: PageWindow & { filter: DeliveryFilter }) {
  const [{ data, error }, ask] = useQuery({
    query: DeliveriesDocument,
    variables: { projectId, ...query },
    requestPolicy: 'cache-and-network',
  });
  const reload = useCallback(() => ask({ requestPolicy: 'network-only' }), [ask]);
  return { page: data?.project?.deliveries, error, reload };
}

/** Whether a delivery from the live feed belongs in the list. */
function matches(row: DeliveryRow, filter: DeliveryFilter): boolean {
  const { status, eventTypes, webhookId, connectorId, eventId, from, to, finishedFrom, finishedTo } = filter;
  const created = Date.parse(row.createdAt);
  const finished = row.status === 'PENDING' || row.status === 'RUNNING' ? Number.NaN : Date.parse(row.updatedAt);
  return (
    (!status || status.includes(row.status)) &&
    (!eventTypes || eventTypes.includes(row.eventType)) &&
    (!webhookId || row.webhookId === webhookId) &&
    (!connectorId || row.connectorId === connectorId) &&
    (!eventId || row.eventId === eventId) &&
    (!from || created >= Date.parse(from)) &&
    (!to || created < Date.parse(to)) &&
    // Comparisons with NaN are false.
    (!finishedFrom || finished >= Date.parse(finishedFrom)) &&
    (!finishedTo || finished < Date.parse(finishedTo))
  );
}

function merge(fetched: readonly DeliveryRow[], arrived: ReadonlyMap<string, DeliveryRow>, takesNew: boolean) {
  const rows = new Map(fetched.map((row) => [row.id, newest(arrived.get(row.id), row)]));
  const oldest = fetched.at(-1)?.id ?? '';
  // Older rows belong on another page.
  if (takesNew)
    for (const row of arrived.values()) if (row.id > oldest) rows.set(row.id, newest(rows.get(row.id), row));
  return [...rows.values()].sort(newestFirst);
}

/** Returns the newer version, because the same update can arrive twice and a query can lag behind the feed. */
function newest(known: DeliveryRow | undefined, row: DeliveryRow): DeliveryRow {
  return known && known.updatedAt > row.updatedAt ? known : row;
}

/** Sorts by ID, because IDs start with their creation time. */
function newestFirst(one: DeliveryRow, other: DeliveryRow): number {
  return one.id < other.id ? 1 : -1;
}
