import { sharedNow } from '../../clock.ts';
import { getConnector } from '../../connectors/registry.ts';
import type { Transaction } from '../../database/client.ts';
import { type Connector, Prisma, type Webhook } from '../../generated/prisma/client.ts';
import { matchesFilter } from './filter.ts';
import { readFilter } from './filter-input.ts';
import { expandEventTypes } from './kinds.ts';
import type { NewEvent } from './service.ts';

/** What a delivery to a subscriber begins with. */
export type Subscriber = Pick<
  Prisma.DeliveryCreateManyInput,
  'webhookId' | 'connectorId' | 'orderingKey' | 'status' | 'reason' | 'nextAttemptAt' | 'completedAt'
>;

type SubscribedWebhook = Pick<Webhook, 'id' | 'isActive' | 'filter' | 'ordering'>;
type SubscribedConnector = Pick<Connector, 'id' | 'isActive' | 'filter' | 'type' | 'eventTypes' | 'pausedReason'>;

/** Everybody who is subscribed to an event, or the one it is for, and whether it is sent to them. */
export async function findSubscribers(tx: Transaction, event: NewEvent): Promise<Subscriber[]> {
  const { projectId, type, only } = event;
  const kinds = Prisma.sql`"eventTypes" && ${[type, '*']}::text[]`;
  const isNamed = (id: string) => Prisma.sql`"id" = ${id}`;
  const nobody = Prisma.sql`false`;
  const webhookFilter = only ? ('webhookId' in only ? isNamed(only.webhookId) : nobody) : kinds;
  const connectorFilter = only ? ('connectorId' in only ? isNamed(only.connectorId) : nobody) : kinds;
  // Locked, so that none is deleted before its delivery is written.
  const webhooks = await tx.$queryRaw<SubscribedWebhook[]>`
    SELECT "id", "isActive", "filter", "ordering" FROM "Webhook"
    WHERE "projectId" = ${projectId} AND ${webhookFilter} ORDER BY "id" FOR KEY SHARE`;
  const connectors = await tx.$queryRaw<SubscribedConnector[]>`
    SELECT "id", "isActive", "filter", "type", "eventTypes", "pausedReason" FROM "Connector"
    WHERE "projectId" = ${projectId} AND ${connectorFilter} ORDER BY "id" FOR KEY SHARE`;
  return [
    ...webhooks.map((webhook) => ({
      webhookId: webhook.id,
      connectorId: null,
      orderingKey: orderingKey(webhook, event),
      ...webhookState(webhook, event),
    })),
    ...connectors.map((connector) => ({
      webhookId: null,
      connectorId: connector.id,
      orderingKey: null,
      ...connectorState(connector, event),
    })),
  ];
}

function webhookState({ isActive, filter }: SubscribedWebhook, event: NewEvent): Partial<Subscriber> {
  if (!isActive) return skipped('disabled');
  return passes(filter, event) ? due() : skipped('filtered');
}

/** The payment that an event is about. Others, and tests with their sample data, have no order. */
function orderingKey({ ordering }: SubscribedWebhook, { data, test }: NewEvent): string | null {
  return ordering === 'PAYMENT' && !test && 'paymentId' in data ? data.paymentId : null;
}

function connectorState(connector: SubscribedConnector, event: NewEvent): Partial<Subscriber> {
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

/** Due by the clock of the database: the column's default. */
const due = (): Partial<Subscriber> => ({ status: 'PENDING' });
const held = (): Partial<Subscriber> => ({ status: 'PENDING', reason: 'paused', nextAttemptAt: null });
const skipped = (reason: string): Partial<Subscriber> => ({
  status: 'SKIPPED',
  reason,
  nextAttemptAt: null,
  completedAt: new Date(sharedNow()),
});
