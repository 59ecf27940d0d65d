import { inVisibleProject, visibleProject } from '../auth/access.ts';
import type { Viewer } from '../auth/viewer.ts';
import { type Bus, topics } from '../bus/bus.ts';
import type { Database } from '../database/client.ts';
import { notFound } from '../errors.ts';
import { type PaymentFilter, toColumns } from '../features/payments/filter.ts';
import type { Delivery, DeliveryStatus, Event, Payment, Replay } from '../generated/prisma/client.ts';
import type { Backlog } from '../limits/backlog.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import { lookAtDeliveries, lookAtEvents, lookAtPayments, lookAtReplays } from './looks.ts';
import { createPrefetch } from './prefetch.ts';
import { type FoundRow, type TailOptions, tail } from './tail.ts';
import { createTurns } from './turns.ts';

declare module '../schema/context.ts' {
  interface Services {
    feed: LiveFeed;
  }
}

/** How often a subscription reads without a hint, because hints may be lost. */
const POLL_MILLISECONDS = 2_000;

export type EventFeedArguments = { projectId: string; after?: string | null; types?: readonly string[] | null };
export type DeliveryFeedArguments = {
  projectId: string;
  after?: string | null;
  filter?: { status?: DeliveryStatus[] | null; eventTypes?: readonly string[] | null; since?: Date | null } | null;
};
export type PaymentFeedArguments = { projectId: string; after?: string | null; filter?: PaymentFilter | null };
export type ReplayFeedArguments = { projectId: string; after?: string | null };
export type LiveFeed = ReturnType<typeof createLiveFeed>;

/**
 * Live subscriptions. Each reads its table from a cursor onward whenever the bus wakes it. Catching up and live updates
 * work the same way, so nothing is missed in between, and a lost hint only delays an event.
 */
export function createLiveFeed({ db, bus }: { db: Database; bus: Bus }) {
  let subscriptionCount = 0;
  const turns = createTurns(Math.max(1, Math.floor(db.pool.options.max / 2)));

  /** Subscribes to a topic, and counts subscriptions. */
  const listenTo = (topic: string) => (wake: () => void) => {
    const unsubscribe = bus.subscribe(topic, wake);
    subscriptionCount += 1;
    return () => {
      unsubscribe();
      subscriptionCount -= 1;
    };
  };

  async function requireVisible(viewer: Viewer, projectId: string): Promise<void> {
    const where = visibleProject(viewer, projectId);
    const count = await turns.take(viewer.userId, () => db.prisma.project.count({ where }));
    if (count === 0) throw notFound();
  }

  /** Follows a table. Its reads wait until the viewer's account has its turn. */
  function followInTurn<Row, Item>({ userId }: Viewer, options: TailOptions<Row, Item>) {
    const { look, load } = options;
    return tail<Row, Item>({
      ...options,
      look: (request) => turns.take(userId, () => look(request)),
      load: (rows) => turns.take(userId, () => load(rows)),
    });
  }

  return {
    subscriptionCount: () => subscriptionCount,

    /** @throws AppError `NOT_FOUND` if the viewer can't see the project, `VALIDATION_FAILED` for an invalid cursor. */
    async events(viewer: Viewer, { projectId, after, types }: EventFeedArguments, backlog?: Backlog) {
      const reached = after != null ? decodeCursor('Event', after) : undefined;
      await requireVisible(viewer, projectId);
      const table = lookAtEvents(db.pool, projectId, types ?? null);
      return followInTurn<Event, { cursor: string; event: Event }>(viewer, {
        start: reached ?? (await turns.take(viewer.userId, table.present)),
        look: table.look,
        async load(rows) {
          const where = { id: { in: rows.map(({ id }) => id) }, projectId, ...inVisibleProject(viewer) };
          return byId(await db.prisma.event.findMany({ where }));
        },
        present: (event, progress) => ({ cursor: encodeCursor(progress), event }),
        subscribe: listenTo(topics.events(projectId)),
        prefetch: createPrefetch(backlog),
        pollMilliseconds: POLL_MILLISECONDS,
      });
    },

    /** @throws AppError as `events` does. */
    async deliveries(viewer: Viewer, { projectId, after, filter }: DeliveryFeedArguments, backlog?: Backlog) {
      const reached = after != null ? decodeCursor('Delivery', after) : undefined;
      await requireVisible(viewer, projectId);
      const table = lookAtDeliveries(db.pool, projectId, {
        status: filter?.status ?? null,
        eventTypes: filter?.eventTypes ?? null,
        createdSince: filter?.since ?? null,
      });
      return followInTurn<Delivery, { cursor: string; delivery: Delivery }>(viewer, {
        start: reached ?? (await turns.take(viewer.userId, table.present)),
        look: table.look,
        async load(rows) {
          const where = { id: { in: rows.map(({ id }) => id) }, projectId, ...inVisibleProject(viewer) };
          return unchanged(rows, await db.prisma.delivery.findMany({ where }));
        },
        present: (delivery, progress) => ({ cursor: encodeCursor(progress), delivery }),
        subscribe: listenTo(topics.deliveries(projectId)),
        prefetch: createPrefetch(backlog),
        pollMilliseconds: POLL_MILLISECONDS,
      });
    },

    /** @throws AppError as `events` does. */
    async payments(viewer: Viewer, { projectId, after, filter }: PaymentFeedArguments, backlog?: Backlog) {
      const reached = after != null ? decodeCursor('Payment', after) : undefined;
      const columns = toColumns(filter ?? {});
      await requireVisible(viewer, projectId);
      const table = lookAtPayments(db.pool, projectId, columns);
      return followInTurn<Payment, { cursor: string; payment: Payment }>(viewer, {
        start: reached ?? (await turns.take(viewer.userId, table.present)),
        look: table.look,
        async load(rows) {
          const where = { id: { in: rows.map(({ id }) => id) }, projectId, ...inVisibleProject(viewer) };
          return unchanged(rows, await db.prisma.payment.findMany({ where }));
        },
        present: (payment, progress) => ({ cursor: encodeCursor(progress), payment }),
        subscribe: listenTo(topics.payments(projectId)),
        prefetch: createPrefetch(backlog),
        pollMilliseconds: POLL_MILLISECONDS,
      });
    },

    /** @throws AppError as `events` does. */
    async replays(viewer: Viewer, { projectId, after }: ReplayFeedArguments, backlog?: Backlog) {
      const reached = after != null ? decodeCursor('Replay', after) : undefined;
      await requireVisible(viewer, projectId);
      const table = lookAtReplays(db.pool, projectId);
      return followInTurn<Replay, { cursor: string; replay: Replay }>(viewer, {
        start: reached ?? (await turns.take(viewer.userId, table.present)),
        look: table.look,
        async load(rows) {
          const where = { id: { in: rows.map(({ id }) => id) }, projectId, ...inVisibleProject(viewer) };
          return unchanged(rows, await db.prisma.replay.findMany({ where }));
        },
        present: (replay, progress) => ({ cursor: encodeCursor(progress), replay }),
        subscribe: listenTo(topics.replays(projectId)),
        prefetch: createPrefetch(backlog),
        pollMilliseconds: POLL_MILLISECONDS,
      });
    },
  };
}

/** Leaves out rows that changed between the two reads. The next read finds and emits them. */
function unchanged<Row extends { id: string; updatedAt: Date }>(looked: readonly FoundRow[], loaded: Row[]) {
  const found = byId(loaded);
  for (const { id, milliseconds } of looked) {
    if (found.get(id)?.updatedAt.getTime() !== milliseconds) found.delete(id);
  }
  return found;
}

function byId<Row extends { id: string }>(rows: Row[]): Map<string, Row> {
  return new Map(rows.map((row) => [row.id, row]));
}
