import { inVisibleProject, requireId, visibleProjects } from '../auth/access.ts';
import type { Viewer } from '../auth/viewer.ts';
import type { Database } from '../database/client.ts';
import { invalidField, notFound } from '../errors.ts';
import type { Delivery, DeliveryStatus, Event } from '../generated/prisma/client.ts';
import { firstIdAt, isId, millisecondsOfId } from '../ids.ts';
import { type Bus, topics } from './bus.ts';
import { tail } from './tail.ts';

/**
 * Rows become visible when their transaction commits, which can be later than the time they carry. Every look goes back
 * by this much, longer than any transaction may last, and leaves out what it has shown already.
 */
const OVERLAP_MILLISECONDS = 20_000;
const PAGE_SIZE = 200;
/** Hints may be lost; this often a subscription looks by itself. */
const POLL_MILLISECONDS = 2_000;

export type EventFeedArguments = { projectId: string; after?: string | null; types?: readonly string[] | null };
export type DeliveryFeedArguments = {
  projectId: string;
  after?: string | null;
  filter?: { status?: DeliveryStatus[] | null; eventTypes?: readonly string[] | null; since?: Date | null } | null;
};
export type LiveFeed = ReturnType<typeof createLiveFeed>;

/**
 * Live subscriptions. Each reads the table from its cursor on, woken by the bus, so that catching up and going live are
 * the same thing, nothing is missed between them, and a lost hint costs a moment and not an event.
 */
export function createLiveFeed({ db, bus }: { db: Database; bus: Bus }) {
  async function requireVisible(viewer: Viewer, projectId: string): Promise<void> {
    const where = { id: requireId('Project', projectId), ...visibleProjects(viewer) };
    if ((await db.prisma.project.count({ where })) === 0) throw notFound();
  }

  async function databaseNow(): Promise<Date> {
    const [row] = await db.prisma.$queryRaw<[{ now: Date }]>`SELECT now() AS "now"`;
    return row.now;
  }

  return {
    /** @throws AppError `NOT_FOUND` for a project the viewer may not see, `VALIDATION_FAILED` for a bad cursor. */
    async events(viewer: Viewer, { projectId, after, types }: EventFeedArguments) {
      if (after != null && !isId('Event', after)) throw invalidField('/after', 'Is not a cursor of this feed.');
      await requireVisible(viewer, projectId);
      const start = after != null ? millisecondsOfId(after) : (await databaseNow()).getTime();
      return tail<Event, { cursor: string; event: Event }>({
        subscribe: (wake) => bus.subscribe(topics.events(projectId), wake),
        pollMilliseconds: POLL_MILLISECONDS,
        overlapMilliseconds: OVERLAP_MILLISECONDS,
        start,
        // Starting live, what is older than the subscription is not news; catching up, it may be.
        replayOverlap: after != null,
        seen: after ?? undefined,
        keyOf: ({ id }) => id,
        timeOf: ({ id }) => millisecondsOfId(id),
        read: (since, position) =>
          db.prisma.event.findMany({
            where: {
              projectId,
              ...inVisibleProject(viewer),
              id: { gte: firstIdAt('Event', since), ...(position && { gt: position.id }) },
              ...(types && { type: { in: [...types] } }),
            },
            orderBy: { id: 'asc' },
            take: PAGE_SIZE,
          }),
        pageSize: PAGE_SIZE,
        present: (event) => ({ cursor: event.id, event }),
      });
    },

    /** @throws AppError as `events` does. */
    async deliveries(viewer: Viewer, { projectId, after, filter }: DeliveryFeedArguments) {
      const cursor = after != null ? parseDeliveryCursor(after) : undefined;
      await requireVisible(viewer, projectId);
      const start = cursor ? cursor.milliseconds : (await databaseNow()).getTime();
      const { status, eventTypes, since: createdSince } = filter ?? {};
      return tail<Delivery, { cursor: string; delivery: Delivery }>({
        subscribe: (wake) => bus.subscribe(topics.deliveries(projectId), wake),
        pollMilliseconds: POLL_MILLISECONDS,
        overlapMilliseconds: OVERLAP_MILLISECONDS,
        start,
        replayOverlap: cursor !== undefined,
        seen: after ?? undefined,
        keyOf: deliveryCursor,
        timeOf: ({ updatedAt }) => updatedAt.getTime(),
        read: (since, position) =>
          db.prisma.delivery.findMany({
            where: {
              projectId,
              ...inVisibleProject(viewer),
              AND: [
                { updatedAt: { gte: new Date(since) } },
                position
                  ? {
                      OR: [
                        { updatedAt: { gt: position.updatedAt } },
                        { updatedAt: position.updatedAt, id: { gt: position.id } },
                      ],
                    }
                  : {},
                status ? { status: { in: status } } : {},
                eventTypes ? { eventType: { in: [...eventTypes] } } : {},
                createdSince ? { createdAt: { gte: createdSince } } : {},
              ],
            },
            orderBy: [{ updatedAt: 'asc' }, { id: 'asc' }],
            take: PAGE_SIZE,
          }),
        pageSize: PAGE_SIZE,
        present: (delivery) => ({ cursor: deliveryCursor(delivery), delivery }),
      });
    },
  };
}

function deliveryCursor({ updatedAt, id }: Delivery): string {
  return `${updatedAt.getTime().toString(36)}.${id}`;
}

function parseDeliveryCursor(cursor: string): { milliseconds: number; id: string } {
  const [time = '', id = ''] = cursor.split('.', 2);
  if (!/^[0-9a-z]{1,9}$/.test(time) || !isId('Delivery', id)) {
    throw invalidField('/after', 'Is not a cursor of this feed.');
  }
  return { milliseconds: Number.parseInt(time, 36), id };
}
