import { z } from 'zod';
import { inProject, requireId, visibleItem } from '../../auth/access.ts';
import { requireProject, rethrowProjectGone } from '../../auth/require-project.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { type Bus, topics } from '../../bus/bus.ts';
import type { BatchClient, Writer } from '../../database/batch-client.ts';
import type { Database, Transaction } from '../../database/client.ts';
import type { Step } from '../../database/compose-statement.ts';
import { notFound } from '../../errors.ts';
import { type FilteredEvent, matchesFilter } from '../../events/filter.ts';
import { eventFilterInput, readFilter } from '../../events/filter-input.ts';
import { EVENT_KINDS, type EventKind } from '../../events/kinds.ts';
import { SAMPLE_PAYLOADS } from '../../events/samples.ts';
import { PAYLOAD_VERSIONS, type PayloadVersions } from '../../events/versions.ts';
import { type Delivery, type Event, Prisma } from '../../generated/prisma/client.ts';
import { newId } from '../../ids.ts';
import { currentTraceparent } from '../../tracing/tracer.ts';
import { parseInput } from '../../validation.ts';
import { type EventDestination, findDestinations, findInVisible, findNamed, routeEvent } from './find-destinations.ts';
import type { NewEvent } from './new-event.ts';
import { type EventToWrite, eventSteps, writingEvents } from './write-events.ts';
import { prismaWriter } from './writer.ts';

const testFilterInput = z.strictObject({
  filter: eventFilterInput.refine((filter) => filter !== undefined && filter !== Prisma.DbNull, 'Must not be null.'),
  eventId: z.string().nullish(),
});

export type FilterResult = { eventType: EventKind; eventId: string | null; matches: boolean };

/** An event, and the trace of the request that causes it. */
export type EventCause = { event: NewEvent; traceContext: string | null };

export type EventService = ReturnType<typeof createEventService>;

/** Records events, each with a delivery for every destination, in the transaction that causes them. */
export function createEventService(options: { db: Database; bus: Bus; payloadVersions?: PayloadVersions }) {
  const { db, bus, payloadVersions = PAYLOAD_VERSIONS } = options;
  /** The destinations must be locked until the event is written. */
  function plan(event: NewEvent, destinations: readonly EventDestination[], traceContext: string | null): EventToWrite {
    const { deliveries, filteredOut } = routeEvent(event, destinations);
    return {
      ...{ id: newId('Event'), version: payloadVersions.current, traceContext, event, filteredOut },
      deliveries: deliveries.map((delivery) => ({ id: newId('Delivery'), ...delivery })),
    };
  }

  const service = {
    /**
     * Writes an event and its deliveries. A destination that subscribes to the event but doesn't get it has a SKIPPED
     * delivery that says why. If its filter excludes the event, the event lists the destination instead. Call
     * `announce` after the commit.
     */
    async record(tx: Transaction, event: NewEvent): Promise<{ eventId: string; deliveryIds: string[] }> {
      const writer = prismaWriter(tx);
      const { projectId, type, only } = event;
      const destinations = only
        ? await findNamed(writer, projectId, 'webhookId' in only ? only.webhookId : only.connectorId)
        : await findDestinations(writer, [projectId], [type]);
      const planned = plan(event, destinations, currentTraceparent() ?? null);
      await writer.query(writingEvents([planned]));
      return { eventId: planned.id, deliveryIds: planned.deliveries.map(({ id }) => id) };
    },

    /**
     * The destinations of events of these types, for `recordAll`. They are locked, so call this in the same
     * transaction.
     */
    destinationsOf(batch: Writer, projectIds: readonly string[], types: readonly EventKind[]) {
      return findDestinations(batch, [...new Set(projectIds)], types);
    },

    /** Does the same as `record` for many events, perhaps of many projects. They are written with the commit. */
    recordAll(batch: BatchClient, causes: readonly EventCause[], destinations: readonly EventDestination[]): void {
      if (causes.length === 0) return;
      batch.queryLast(writingEvents(causes.map(({ event, traceContext }) => plan(event, destinations, traceContext))));
    },

    /**
     * The destinations of events of these types in one project, for `steps`. They aren't locked, so one may be deleted
     * before its delivery is written, which violates a foreign key. Throws `NOT_FOUND` if the viewer can't see the
     * project.
     */
    async destinationsIn(viewer: Viewer, projectId: string, types: readonly EventKind[]): Promise<EventDestination[]> {
      const found = await findInVisible(db.pool, viewer, requireId('Project', projectId), types);
      if (!found) throw notFound();
      return found;
    },

    /** The writes that `record` makes, as steps of the statement that makes the change. */
    steps(event: NewEvent, destinations: readonly EventDestination[]): { event: Step; delivery: Step } {
      return eventSteps([plan(event, destinations, currentTraceparent() ?? null)]);
    },

    /** Notifies workers and subscriptions that a project has new events. Call this after the commit. */
    announce(projectId: string): void {
      bus.publish(topics.deliveriesDue);
      bus.publish(topics.events(projectId));
      bus.publish(topics.deliveries(projectId));
    },

    /**
     * Sends a sample event, marked `"test": true`, to one destination. Throws `NOT_FOUND` if the destination was
     * deleted.
     */
    async sendTest(projectId: string, type: EventKind, only: NonNullable<NewEvent['only']>): Promise<Delivery> {
      const event = { projectId, type, data: SAMPLE_PAYLOADS[type], test: true, only } as NewEvent;
      const sending = db.prisma.$transaction(async (tx) => {
        const { deliveryIds } = await service.record(tx, event);
        const created = deliveryIds[0] && (await tx.delivery.findUnique({ where: { id: deliveryIds[0] } }));
        if (!created) throw notFound();
        return created;
      });
      const delivery = await sending.catch(rethrowProjectGone);
      service.announce(projectId);
      return delivery;
    },

    /** Tests a filter with a recorded event, or with a sample of every event type. Doesn't send anything. */
    async testFilter(
      viewer: Viewer,
      projectId: string,
      input: { filter?: unknown; eventId?: string | null },
    ): Promise<FilterResult[]> {
      await requireProject(db.prisma, viewer, projectId);
      const { filter, eventId } = parseInput(testFilterInput, input);
      const node = readFilter(filter);
      if (!eventId) {
        const resultOf = (eventType: EventKind) => ({
          eventType,
          eventId: null,
          matches: matchesFilter(node, { type: eventType, data: SAMPLE_PAYLOADS[eventType] }),
        });
        return EVENT_KINDS.map(resultOf);
      }
      const event = await service.find(viewer, eventId, projectId);
      if (!event) throw notFound();
      const type = event.type as EventKind;
      return [
        { eventType: type, eventId, matches: matchesFilter(node, { type, data: event.data as FilteredEvent['data'] }) },
      ];
    },

    async list(viewer: Viewer, projectId: string, types: readonly string[] | null, query: Prisma.EventFindManyArgs) {
      return db.prisma.event.findMany({
        ...query,
        where: {
          AND: [
            query.where ?? {},
            await inProject(db.prisma, viewer, projectId),
            types ? { type: { in: [...types] } } : {},
          ],
        },
        orderBy: { id: 'desc' },
      });
    },

    find(
      viewer: Viewer,
      id: string,
      projectId?: string | null,
      query: Prisma.EventFindFirstArgs = {},
    ): Promise<Event | null> {
      return db.prisma.event.findFirst({ ...query, where: visibleItem(viewer, 'Event', id, projectId) });
    },
  };
  return service;
}
