import type { Viewer } from '../../auth/viewer.ts';
import { visibleQuery, visibleStatements } from '../../auth/visible-statements.ts';
import { sharedNow } from '../../clock.ts';
import { getConnector } from '../../connectors/types/registry.ts';
import type { Writer } from '../../database/batch-client.ts';
import type { Queryable } from '../../database/client.ts';
import { asReference } from '../../database/reference.ts';
import { preparedStatement, runStatement } from '../../database/statement.ts';
import { type FilterNode, matchesFilter } from '../../events/filter.ts';
import { readFilter } from '../../events/filter-input.ts';
import { type EventType, expandEventTypes } from '../../events/types.ts';
import type { Connector, Delivery, Webhook } from '../../generated/prisma/client.ts';
import type { NewEvent } from './new-event.ts';

/** The initial state of an event's delivery to one destination. */
export type NewDelivery = Pick<Delivery, 'webhookId' | 'connectorId' | 'orderingKey'> & State;

/** An event's deliveries, and the destinations that subscribe to it but filter it out. */
export type Routing = { deliveries: NewDelivery[]; filteredOut: string[] };

type State = Pick<Delivery, 'reason' | 'completedAt'> & {
  status: 'PENDING' | 'SKIPPED';
  /** Whether the delivery is due as soon as it is written. The time is set by the database's clock. */
  isDue: boolean;
};

type WebhookRow = Pick<Webhook, 'id' | 'projectId' | 'isActive' | 'filter' | 'eventTypes' | 'ordering'> & {
  isPaused: boolean;
  type: null;
};
type ConnectorRow = Pick<Connector, 'id' | 'projectId' | 'isActive' | 'filter' | 'eventTypes' | 'type'> & {
  isPaused: boolean;
};

/** A destination, and the values that determine whether it gets an event. */
export type EventDestination = WebhookRow | ConnectorRow;

/**
 * The projects' destinations that subscribe to any of the event types. They are locked, so none can be deleted before
 * its deliveries are written. To avoid a deadlock, the projects are locked first, as project deletion does.
 */
export function findDestinations(
  writer: Writer,
  projectIds: readonly string[],
  types: readonly EventType[],
): Promise<EventDestination[]> {
  return writer.query(SUBSCRIBED(projectIds, [...types, '*']));
}

/** The single destination of an event that someone requested, locked in the same way. */
export function findNamed(writer: Writer, projectId: string, id: string): Promise<EventDestination[]> {
  return writer.query(NAMED([projectId], id));
}

/**
 * One project's destinations that subscribe to any of the event types, or undefined if the viewer can't see the
 * project. Nothing is locked. If a destination is deleted before the event is written, its delivery violates a foreign
 * key.
 */
export async function findInVisible(
  db: Queryable,
  viewer: Viewer,
  projectId: string,
  types: readonly EventType[],
): Promise<EventDestination[] | undefined> {
  const { rows } = await runStatement<EventDestination | { id: null }>(
    db,
    visibleQuery(viewer, OF_PROJECT, projectId, [...types, '*']),
  );
  return rows.length === 0 ? undefined : rows.filter((row) => row.id !== null);
}

const COLUMNS = '"id", "projectId", "isActive", "pausedAt" IS NOT NULL AS "isPaused", "filter", "eventTypes"';

/** A single statement saves round trips for every event. */
function lockedWhere(condition: string): string {
  return `
    WITH project AS MATERIALIZED (
      SELECT "id" FROM "Project" WHERE "id" = ANY($1::text[]) ORDER BY "id" FOR KEY SHARE
    ), webhooks AS (
      SELECT ${COLUMNS}, "ordering" FROM "Webhook"
      WHERE "projectId" = ANY(ARRAY(SELECT ${asReference('"id"')} FROM project)) AND ${condition} ORDER BY "id" FOR KEY SHARE
    ), connectors AS (
      SELECT ${COLUMNS}, "type" FROM "Connector"
      WHERE "projectId" = ANY(ARRAY(SELECT ${asReference('"id"')} FROM project)) AND ${condition} ORDER BY "id" FOR KEY SHARE
    )
    SELECT *, NULL AS "type" FROM webhooks
    UNION ALL
    SELECT "id", "projectId", "isActive", "isPaused", "filter", "eventTypes", NULL, "type" FROM connectors`;
}

const SUBSCRIBED = preparedStatement('event-destinations', lockedWhere('"eventTypes" && $2::text[]'));
const NAMED = preparedStatement('event-destination', lockedWhere('"id" = $2'));

const OF_PROJECT = visibleStatements(
  'event-destinations-visible',
  `
  SELECT destination.* FROM "Project" AS project LEFT JOIN LATERAL (
    SELECT ${COLUMNS}, "ordering", NULL AS "type" FROM "Webhook"
    WHERE "projectId" = ${asReference('project."id"')} AND "eventTypes" && $2::text[]
    UNION ALL
    SELECT ${COLUMNS}, NULL, "type" FROM "Connector"
    WHERE "projectId" = ${asReference('project."id"')} AND "eventTypes" && $2::text[]
  ) AS destination ON true
  WHERE project."id" = $1 AND {visible project $3}`,
);

/** Determines which of these destinations an event is sent to. Those that filter it out get no delivery. */
export function routeEvent(event: NewEvent, destinations: readonly EventDestination[]): Routing {
  const routing: Routing = { deliveries: [], filteredOut: [] };
  for (const destination of destinations.filter((candidate) => isConcerned(candidate, event))) {
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

function isConcerned({ projectId, eventTypes }: EventDestination, { only, type, ...event }: NewEvent): boolean {
  return projectId === event.projectId && (only !== undefined || eventTypes.includes(type) || eventTypes.includes('*'));
}

/** Undefined if the destination's filter excludes the event. */
function stateOf(destination: EventDestination, event: NewEvent): State | undefined {
  const { isActive, isPaused, filter } = destination;
  if (!isActive) return skipped('disabled');
  if (destination.type !== null && !isSupported(destination, event)) return skipped('unsupported_event');
  if (filter !== null && !passes(destination, event)) return undefined;
  return isPaused && !event.only ? held() : due();
}

function isSupported({ type, eventTypes }: ConnectorRow, event: NewEvent): boolean {
  return getConnector(type).supportsEvent(event.type, expandEventTypes(eventTypes));
}

/**
 * The payment that an event is about. Only events about payments are ordered. Test events aren't ordered, because their
 * data is a sample.
 */
function orderingKey({ ordering }: WebhookRow, { data, test }: NewEvent): string | null {
  return ordering === 'PAYMENT' && !test && 'paymentId' in data ? data.paymentId : null;
}

/** Parsing a filter takes longer than matching it, and in a batch, a destination can get hundreds of events. */
const parsed = new WeakMap<EventDestination, FilterNode>();

/** An event for a single destination ignores the destination's filter. */
function passes(destination: EventDestination, { type, data, only }: NewEvent): boolean {
  if (only !== undefined) return true;
  const node = parsed.get(destination) ?? readFilter(destination.filter);
  parsed.set(destination, node);
  return matchesFilter(node, { type, data });
}

const due = (): State => ({ status: 'PENDING', isDue: true, reason: null, completedAt: null });
const held = (): State => ({ status: 'PENDING', isDue: false, reason: 'paused', completedAt: null });
const skipped = (reason: string): State => ({
  status: 'SKIPPED',
  isDue: false,
  reason,
  completedAt: new Date(sharedNow()),
});
