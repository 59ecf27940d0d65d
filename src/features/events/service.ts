import { z } from 'zod';
import { inVisibleProject, visibleItem } from '../../auth/access.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { getConnector } from '../../connectors/registry.ts';
import type { Database, Transaction } from '../../database/client.ts';
import { notFound } from '../../errors.ts';
import type { Delivery, Event, Prisma } from '../../generated/prisma/client.ts';
import { newId } from '../../ids.ts';
import { type Bus, topics } from '../../live/bus.ts';
import { EVENT_KINDS, EVENT_PAYLOAD_VERSION, EVENT_TYPE_FILTERS, type EventKind, type EventPayload } from './kinds.ts';
import { SAMPLE_PAYLOADS } from './samples.ts';

export type NewEvent = {
  [K in EventKind]: {
    projectId: string;
    type: K;
    data: EventPayload<K>;
    test?: boolean;
    /** Sends it to these subscribers alone, whatever they are subscribed to. */
    only?: { webhookId: string } | { connectorId: string };
  };
}[EventKind];

/** At least one kind or `*`, each once. */
export const eventTypesInput = z
  .array(z.enum(EVENT_TYPE_FILTERS, { error: `Must be one of ${EVENT_TYPE_FILTERS.join(', ')}.` }))
  .min(1, 'Name at least one event kind, or "*" for all.')
  .max(50, 'Has too many entries.')
  .transform((types) => [...new Set(types)]);

/** The kinds that a list of filters stands for. */
export function expandEventTypes(eventTypes: readonly string[]): ReadonlySet<EventKind> {
  return new Set(eventTypes.includes('*') ? EVENT_KINDS : (eventTypes as EventKind[]));
}

export type EventService = ReturnType<typeof createEventService>;

/** Records what happened, in the transaction that made it happen, together with a delivery for each subscriber. */
export function createEventService({ db, bus }: { db: Database; bus: Bus }) {
  const service = {
    /**
     * Writes an event and its deliveries. Subscribers that will not get it have a SKIPPED delivery that says why.
     * After the commit call `announce`.
     */
    async record(tx: Transaction, event: NewEvent): Promise<{ eventId: string; deliveryIds: string[] }> {
      const { projectId, type, data, test = false, only } = event;
      const eventId = newId('Event');
      await tx.event.create({ data: { id: eventId, projectId, type, data, test, version: EVENT_PAYLOAD_VERSION } });
      const deliveries = (await findSubscribers(tx, projectId, type, only)).map((subscriber) => ({
        id: newId('Delivery'),
        projectId,
        eventId,
        eventType: type,
        ...subscriber,
      }));
      if (deliveries.length > 0) await tx.delivery.createMany({ data: deliveries });
      return { eventId, deliveryIds: deliveries.map(({ id }) => id) };
    },

    /** Tells workers and live subscribers that a project has new events. Call it after the commit. */
    announce(projectId: string): void {
      bus.publish(topics.deliveriesDue);
      bus.publish(topics.events(projectId));
      bus.publish(topics.deliveries(projectId));
    },

    /** Sends one subscriber an event with a sample payload, marked `"test": true`. Throws `NOT_FOUND` when it is gone. */
    async sendTest(projectId: string, type: EventKind, only: NonNullable<NewEvent['only']>): Promise<Delivery> {
      const event = { projectId, type, data: SAMPLE_PAYLOADS[type], test: true, only } as NewEvent;
      const delivery = await db.prisma.$transaction(async (tx) => {
        const { deliveryIds } = await service.record(tx, event);
        const created = deliveryIds[0] && (await tx.delivery.findUnique({ where: { id: deliveryIds[0] } }));
        if (!created) throw notFound();
        return created;
      });
      service.announce(projectId);
      return delivery;
    },

    list(viewer: Viewer, projectId: string, types: readonly string[] | null, query: Prisma.EventFindManyArgs) {
      return db.prisma.event.findMany({
        ...query,
        where: {
          AND: [
            query.where ?? {},
            { projectId, ...inVisibleProject(viewer) },
            types ? { type: { in: [...types] } } : {},
          ],
        },
        orderBy: { id: 'desc' },
      });
    },

    find(viewer: Viewer, id: string, projectId?: string | null): Promise<Event | null> {
      return db.prisma.event.findFirst({ where: visibleItem(viewer, 'Event', id, projectId) });
    },
  };
  return service;
}

type Subscriber = Pick<
  Prisma.DeliveryCreateManyInput,
  'webhookId' | 'connectorId' | 'status' | 'reason' | 'nextAttemptAt' | 'completedAt'
>;

async function findSubscribers(
  tx: Transaction,
  projectId: string,
  type: EventKind,
  only: NewEvent['only'],
): Promise<Subscriber[]> {
  const subscribed = { projectId, eventTypes: { hasSome: [type, '*'] } };
  const webhookFilter = only ? ('webhookId' in only ? { projectId, id: only.webhookId } : undefined) : subscribed;
  const connectorFilter = only ? ('connectorId' in only ? { projectId, id: only.connectorId } : undefined) : subscribed;
  const webhooks = webhookFilter
    ? await tx.webhook.findMany({ where: webhookFilter, select: { id: true, isActive: true } })
    : [];
  const connectors = connectorFilter
    ? await tx.connector.findMany({
        where: connectorFilter,
        select: { id: true, isActive: true, type: true, eventTypes: true, pausedReason: true },
      })
    : [];
  return [
    ...webhooks.map(({ id, isActive }) => ({
      webhookId: id,
      connectorId: null,
      ...(isActive ? due() : skipped('disabled')),
    })),
    ...connectors.map(({ id, isActive, type: connectorType, eventTypes, pausedReason }) => ({
      webhookId: null,
      connectorId: id,
      ...(!isActive
        ? skipped('disabled')
        : !getConnector(connectorType).carries(type, expandEventTypes(eventTypes))
          ? skipped('not_carried')
          : pausedReason && !only
            ? held()
            : due()),
    })),
  ];
}

/** Due by the clock of the database: the column's default. */
const due = (): Partial<Subscriber> => ({ status: 'PENDING' });
const held = (): Partial<Subscriber> => ({ status: 'PENDING', reason: 'paused', nextAttemptAt: null });
const skipped = (reason: string): Partial<Subscriber> => ({
  status: 'SKIPPED',
  reason,
  nextAttemptAt: null,
  completedAt: new Date(),
});
