import { sharedNow } from '../../clock.ts';
import { getConnector } from '../../connectors/types/registry.ts';
import type { Transaction } from '../../database/client.ts';
import { matchesFilter } from '../../events/filter.ts';
import { readFilter } from '../../events/filter-input.ts';
import { expandEventTypes } from '../../events/kinds.ts';
import { type Connector, type Delivery, Prisma, type Webhook } from '../../generated/prisma/client.ts';
import type { NewEvent } from './new-event.ts';

/** What a delivery to a subscriber begins with. */
export type Subscriber = Pick<Delivery, 'webhookId' | 'connectorId' | 'orderingKey'> & State;

type State = Pick<Delivery, 'reason' | 'completedAt'> & {
  status: 'PENDING' | 'SKIPPED';
  /** By the clock of the database. */
  isDue: boolean;
};

type SubscribedWebhook = Pick<Webhook, 'id' | 'isActive' | 'filter' | 'ordering'> & { type: null };
type SubscribedConnector = Pick<Connector, 'id' | 'isActive' | 'filter' | 'type' | 'eventTypes' | 'pausedReason'>;

/** Everybody who is subscribed to an event, or the one it is for, and whether it is sent to them. */
export async function findSubscribers(tx: Transaction, event: NewEvent): Promise<Subscriber[]> {
  const { projectId, type, only } = event;
  const kinds = Prisma.sql`"eventTypes" && ${[type, '*']}::text[]`;
  const isNamed = (id: string) => Prisma.sql`"id" = ${id}`;
  const nobody = Prisma.sql`false`;
  const webhookFilter = only ? ('webhookId' in only ? isNamed(only.webhookId) : nobody) : kinds;
  const connectorFilter = only ? ('connectorId' in only ? isNamed(only.connectorId) : nobody) : kinds;
  // Locked, so that none is deleted before its delivery is written; the project first, as its deletion does, or the two
  // would wait for each other. In one statement, since every event asks.
  const found = await tx.$queryRaw<(SubscribedWebhook | SubscribedConnector)[]>`
    WITH project AS MATERIALIZED (
      SELECT "id" FROM "Project" WHERE "id" = ${projectId} FOR KEY SHARE
    ), webhooks AS (
      SELECT "id", "isActive", "filter", "ordering" FROM "Webhook"
      WHERE "projectId" = (SELECT "id" FROM project) AND ${webhookFilter} ORDER BY "id" FOR KEY SHARE
    ), connectors AS (
      SELECT "id", "isActive", "filter", "type", "eventTypes", "pausedReason" FROM "Connector"
      WHERE "projectId" = (SELECT "id" FROM project) AND ${connectorFilter} ORDER BY "id" FOR KEY SHARE
    )
    SELECT "id", "isActive", "filter", "ordering", NULL AS "type", NULL AS "eventTypes", NULL AS "pausedReason" FROM webhooks
    UNION ALL
    SELECT "id", "isActive", "filter", NULL, "type", "eventTypes", "pausedReason" FROM connectors`;
  return found.map((subscriber) =>
    subscriber.type === null
      ? {
          webhookId: subscriber.id,
          connectorId: null,
          orderingKey: orderingKey(subscriber, event),
          ...webhookState(subscriber, event),
        }
      : { webhookId: null, connectorId: subscriber.id, orderingKey: null, ...connectorState(subscriber, event) },
  );
}

function webhookState({ isActive, filter }: SubscribedWebhook, event: NewEvent): State {
  if (!isActive) return skipped('disabled');
  return passes(filter, event) ? due() : skipped('filtered');
}

/** The payment that an event is about. Others, and tests with their sample data, have no order. */
function orderingKey({ ordering }: SubscribedWebhook, { data, test }: NewEvent): string | null {
  return ordering === 'PAYMENT' && !test && 'paymentId' in data ? data.paymentId : null;
}

function connectorState(connector: SubscribedConnector, event: NewEvent): State {
  const { isActive, filter, type, eventTypes, pausedReason } = connector;
  if (!isActive) return skipped('disabled');
  if (!getConnector(type).carries(event.type, expandEventTypes(eventTypes))) return skipped('not_carried');
  if (!passes(filter, event)) return skipped('filtered');
  return pausedReason && !event.only ? held() : due();
}

/** What is meant for one alone reaches it, whatever it filters. */
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
