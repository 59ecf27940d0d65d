import { sharedNow } from '../../clock.ts';
import { getConnector } from '../../connectors/types/registry.ts';
import type { Transaction } from '../../database/client.ts';
import { matchesFilter } from '../../events/filter.ts';
import { readFilter } from '../../events/filter-input.ts';
import { expandEventTypes } from '../../events/kinds.ts';
import { type Connector, type Delivery, Prisma, type Webhook } from '../../generated/prisma/client.ts';
import type { NewEvent } from './new-event.ts';

/** The initial state of an event's delivery to one destination. */
export type NewDelivery = Pick<Delivery, 'webhookId' | 'connectorId' | 'orderingKey'> & State;

/** What becomes of an event: its deliveries, and the destinations that subscribe to it but filter it out. */
export type Routing = { deliveries: NewDelivery[]; filteredOut: string[] };

type State = Pick<Delivery, 'reason' | 'completedAt'> & {
  status: 'PENDING' | 'SKIPPED';
  /** Whether the delivery is due as soon as it is written. The time is set by the database's clock. */
  isDue: boolean;
};

type WebhookRow = Pick<Webhook, 'id' | 'isActive' | 'filter' | 'ordering'> & { isPaused: boolean; type: null };
type ConnectorRow = Pick<Connector, 'id' | 'isActive' | 'filter' | 'type' | 'eventTypes'> & { isPaused: boolean };

/**
 * Finds the destinations that subscribe to an event, or the only one it is meant for, and decides whether to send the
 * event to each of them. Those that filter it out get no delivery, because there would be too many.
 */
export async function findDestinations(tx: Transaction, event: NewEvent): Promise<Routing> {
  const { projectId, type, only } = event;
  const subscribes = Prisma.sql`"eventTypes" && ${[type, '*']}::text[]`;
  const isNamed = (id: string) => Prisma.sql`"id" = ${id}`;
  const none = Prisma.sql`false`;
  const webhookFilter = only ? ('webhookId' in only ? isNamed(only.webhookId) : none) : subscribes;
  const connectorFilter = only ? ('connectorId' in only ? isNamed(only.connectorId) : none) : subscribes;
  // With the locks, no destination can be deleted before its deliveries are written. To avoid a deadlock, this locks
  // the project first, as project deletion does. A single statement saves round trips for every event.
  const found = await tx.$queryRaw<(WebhookRow | ConnectorRow)[]>`
    WITH project AS MATERIALIZED (
      SELECT "id" FROM "Project" WHERE "id" = ${projectId} FOR KEY SHARE
    ), webhooks AS (
      SELECT "id", "isActive", "pausedAt" IS NOT NULL AS "isPaused", "filter", "ordering" FROM "Webhook"
      WHERE "projectId" = (SELECT "id" FROM project) AND ${webhookFilter} ORDER BY "id" FOR KEY SHARE
    ), connectors AS (
      SELECT "id", "isActive", "pausedAt" IS NOT NULL AS "isPaused", "filter", "type", "eventTypes" FROM "Connector"
      WHERE "projectId" = (SELECT "id" FROM project) AND ${connectorFilter} ORDER BY "id" FOR KEY SHARE
    )
    SELECT "id", "isActive", "isPaused", "filter", "ordering", NULL AS "type", NULL AS "eventTypes" FROM webhooks
    UNION ALL
    SELECT "id", "isActive", "isPaused", "filter", NULL, "type", "eventTypes" FROM connectors`;
  const routing: Routing = { deliveries: [], filteredOut: [] };
  for (const destination of found) {
    const { id } = destination;
    const state = stateOf(destination, event);
    if (!state) {
      routing.filteredOut.push(id);
      continue;
    }
    routing.deliveries.push({
      ...(destination.type === null
        ? { webhookId: id, connectorId: null, orderingKey: orderingKey(destination, event) }
        : { webhookId: null, connectorId: id, orderingKey: null }),
      ...state,
    });
  }
  return routing;
}

/** Undefined if the destination's filter excludes the event. */
function stateOf(destination: WebhookRow | ConnectorRow, event: NewEvent): State | undefined {
  const { isActive, isPaused, filter } = destination;
  if (!isActive) return skipped('disabled');
  if (destination.type !== null && !isCarried(destination, event)) return skipped('not_carried');
  if (!passes(filter, event)) return undefined;
  return isPaused && !event.only ? held() : due();
}

function isCarried({ type, eventTypes }: ConnectorRow, event: NewEvent): boolean {
  return getConnector(type).carries(event.type, expandEventTypes(eventTypes));
}

/**
 * The payment an event is about. Events about anything else aren't ordered. Neither are test events, because their data
 * is a sample.
 */
function orderingKey({ ordering }: WebhookRow, { data, test }: NewEvent): string | null {
  return ordering === 'PAYMENT' && !test && 'paymentId' in data ? data.paymentId : null;
}

/** The filter is ignored for an event that is meant for only one destination. */
function passes(filter: Prisma.JsonValue, { type, data, only }: NewEvent): boolean {
  return filter === null || only !== undefined || matchesFilter(readFilter(filter), { type, data });
}

const due = (): State => ({ status: 'PENDING', isDue: true, reason: null, completedAt: null });
const held = (): State => ({ status: 'PENDING', isDue: false, reason: 'paused', completedAt: null });
const skipped = (reason: string): State => ({
  status: 'SKIPPED',
  isDue: false,
  reason,
  completedAt: new Date(sharedNow()),
});
