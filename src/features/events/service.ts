import { z } from 'zod';
import { inProject, requireId, visibleItem, visibleProjectId } from '../../auth/access.ts';
import { requireProject, rethrowProjectGone } from '../../auth/require-project.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { type Bus, topics } from '../../bus/bus.ts';
import type { BatchClient, Writer } from '../../database/batch-client.ts';
import type { Transaction } from '../../database/client.ts';
import { type TenantDatabase, unfiltered } from '../../database/tenant-client.ts';
import { belongingTo, ofProject } from '../../database/tenant-filter.ts';
import { invalidField, notFound } from '../../errors.ts';
import { type FilteredEvent, matchesFilter } from '../../events/filter.ts';
import { eventFilterInput, readFilter } from '../../events/filter-input.ts';
import { SAMPLE_PAYLOADS } from '../../events/samples.ts';
import { hasAllFields, type TypedPayload } from '../../events/typed-payload.ts';
import { EVENT_TYPES, type EventType } from '../../events/types.ts';
import { currentPayload, PAYLOAD_VERSIONS, type PayloadVersions } from '../../events/versions.ts';
import { type Delivery, type Event, Prisma } from '../../generated/prisma/client.ts';
import { newId } from '../../ids.ts';
import { currentTraceparent } from '../../tracing/tracer.ts';
import { parseInput } from '../../validation.ts';
import { type EventFilter, matching, subjectOf } from './filter.ts';
import { findAbout } from './find-about.ts';
import { type EventDestination, findDestinations, findInVisible, findNamed, routeEvent } from './find-destinations.ts';
import type { NewEvent } from './new-event.ts';
import { type EventToWrite, type EventValues, eventValues, writingEvents } from './write-events.ts';
import { prismaWriter } from './writer.ts';

const recordTestInput = z.strictObject({ eventType: z.enum(EVENT_TYPES) });

/** How many events a filter can be tested with in one request. */
const MAX_LATEST = 50;

/** Checks the input for testing a filter. */
export const testFilterInput = z.strictObject({
  filter: eventFilterInput.refine((filter) => filter !== undefined && filter !== Prisma.DbNull, 'Must not be null.'),
  eventId: z.string().nullish(),
  latest: z.int().min(1, 'Must be at least 1.').max(MAX_LATEST, `Must be at most ${MAX_LATEST}.`).nullish(),
});

export type FilterResult = { eventType: EventType; eventId: string | null; matches: boolean };

/** An event, and the trace of the request that caused it. */
export type EventCause = { event: NewEvent; traceContext: string | null };

export type EventService = ReturnType<typeof createEventService>;

/** Records events, each with a delivery for every destination, in the transaction that causes them. */
export function createEventService(options: { db: TenantDatabase; bus: Bus; payloadVersions?: PayloadVersions }) {
  const { db, bus, payloadVersions = PAYLOAD_VERSIONS } = options;
  /** The destinations must be locked until the event is written. */
  function plan(event: NewEvent, destinations: readonly EventDestination[], traceContext: string | null): EventToWrite {
    const { deliveries, filteredOut } = routeEvent(event, destinations);
    return {
      id: newId('Event'),
      version: payloadVersions.current,
      traceContext,
      event,
      filteredOut,
      deliveries: deliveries.map((delivery) => ({ id: newId('Delivery'), ...delivery })),
    };
  }

  const service = {
    /**
     * Writes an event and its deliveries. A destination that subscribes to the event but doesn't get it has a SKIPPED
     * delivery that says why. If its filter excludes the event, the event lists the destination instead. Call
     * `announce` after the commit.
     */
    async record(
      tx: Pick<Transaction, '$queryRawUnsafe'>,
      event: NewEvent,
    ): Promise<{ eventId: string; deliveryIds: string[] }> {
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
     * The destinations for events of these types, for `recordAll`. They are locked, so call this in the same
     * transaction.
     */
    destinationsOf(batch: Writer, projectIds: readonly string[], types: readonly EventType[]) {
      return findDestinations(batch, [...new Set(projectIds)], types);
    },

    /** Like `record`, but for many events of one or more projects. They are written with the commit. */
    recordAll(batch: BatchClient, causes: readonly EventCause[], destinations: readonly EventDestination[]): void {
      if (causes.length === 0) return;
      batch.queryLast(writingEvents(causes.map(({ event, traceContext }) => plan(event, destinations, traceContext))));
    },

    /**
     * The destinations for events of these types in one project, for `steps`. They aren't locked, so one may be deleted
     * before its delivery is written, which violates a foreign key. Throws `NOT_FOUND` if the viewer can't see the
     * project.
     */
    async destinationsIn(viewer: Viewer, projectId: string, types: readonly EventType[]): Promise<EventDestination[]> {
      const found = await findInVisible(db.pool, viewer, requireId('Project', projectId), types);
      if (!found) throw notFound();
      return found;
    },

    /** The values that `record` writes, for `EVENT_STEPS` in the statement that makes the change. */
    stepValues(event: NewEvent, destinations: readonly EventDestination[]): EventValues {
      return eventValues([plan(event, destinations, currentTraceparent() ?? null)]);
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
    async sendTest(projectId: string, type: EventType, only: NonNullable<NewEvent['only']>): Promise<Delivery> {
      const event = { projectId, type, data: SAMPLE_PAYLOADS[type], test: true, only } as NewEvent;
      const sending = db.prisma.$transaction(async (tx) => {
        const { deliveryIds } = await service.record(tx, event);
        const created = deliveryIds[0] && (await unfiltered(tx).delivery.findUnique({ where: { id: deliveryIds[0] } }));
        if (!created) throw notFound();
        return created;
      });
      const delivery = await sending.catch(rethrowProjectGone);
      service.announce(projectId);
      return delivery;
    },

    /**
     * Records a sample event, marked `"test": true`, for subscriptions such as the one that `tollgate listen` opens.
     * Doesn't send it to any destination.
     */
    async recordTest(viewer: Viewer, projectId: string, input: { eventType: EventType }): Promise<Event> {
      const project = await requireProject(db.prisma, viewer, projectId);
      const { eventType: type } = parseInput(recordTestInput, input);
      const event = { projectId, type, data: SAMPLE_PAYLOADS[type], test: true } as NewEvent;
      const planned = plan(event, [], currentTraceparent() ?? null);
      const recording = db.prisma.$transaction(async (tx) => {
        await prismaWriter(tx).query(writingEvents([planned]));
        return tx.event.findUniqueOrThrow({ where: belongingTo(project, { id: planned.id }) });
      });
      const recorded = await recording.catch(rethrowProjectGone);
      service.announce(projectId);
      return recorded;
    },

    /**
     * Tests a filter with a recorded event, with the latest events, newest first, or with a sample of every event type.
     * Doesn't send anything.
     */
    async testFilter(
      viewer: Viewer,
      projectId: string,
      input: { filter?: unknown; eventId?: string | null; latest?: number | null },
    ): Promise<FilterResult[]> {
      await requireProject(db.prisma, viewer, projectId);
      const { filter, eventId, latest } = parseInput(testFilterInput, input);
      if (eventId && latest) throw invalidField('/latest', 'Must not be set together with eventId.');
      const node = readFilter(filter);
      const resultOf = ({ id, type, data }: Pick<Event, 'id' | 'type' | 'data'>): FilterResult => {
        const event = { type: type as EventType, data: data as FilteredEvent['data'] };
        return { eventType: event.type, eventId: id, matches: matchesFilter(node, event) };
      };
      if (latest) {
        const where = { ...(await inProject(db.prisma, viewer, projectId)), test: false };
        return (await db.prisma.event.findMany({ where, orderBy: { id: 'desc' }, take: latest })).map(resultOf);
      }
      if (!eventId) {
        return EVENT_TYPES.map((eventType) => ({
          eventType,
          eventId: null,
          matches: matchesFilter(node, { type: eventType, data: SAMPLE_PAYLOADS[eventType] }),
        }));
      }
      const event = await service.find(viewer, eventId, projectId);
      if (!event) throw notFound();
      return [resultOf(event)];
    },

    /** A project's events. Throws AppError `VALIDATION_FAILED` for a type of resource without events. */
    async list(viewer: Viewer, projectId: string, filter: EventFilter, query: Prisma.EventFindManyArgs) {
      const subject = filter.resourceId ? subjectOf(filter.resourceId) : undefined;
      const conditions = matching(filter);
      const visible = await visibleProjectId(db.prisma, viewer, projectId);
      if (!visible) return [];
      const about = subject ? [{ id: { in: await findAbout(db, visible, subject) } }] : [];
      return db.prisma.event.findMany({
        ...query,
        where: { AND: [ofProject(visible), query.where ?? {}, ...conditions, ...about] },
        orderBy: { id: 'desc' },
      });
    },

    /** An event's payload in the current version. Null if it doesn't have all the fields of its type. */
    payload({ type, version, data }: Pick<Event, 'type' | 'version' | 'data'>): TypedPayload | null {
      const recorded = { type, version, data: data as TypedPayload['data'] };
      const payload = { type: type as EventType, data: currentPayload(recorded, payloadVersions) };
      return hasAllFields(payload) ? payload : null;
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
