import type { Viewer } from '../auth/viewer.ts';
import { type Bus, topics } from '../bus/bus.ts';
import type { TenantDatabase } from '../database/tenant-client.ts';
import {
  type DeliveryColumns,
  type DeliveryFilter,
  toColumns as toDeliveryColumns,
} from '../features/deliveries/filter.ts';
import { type PaymentFilter, toColumns } from '../features/payments/filter.ts';
import type { Delivery, Event, Notice, Payment, Replay } from '../generated/prisma/client.ts';
import type { Backlog } from '../limits/backlog.ts';
import { deliveryChanges, eventChanges, noticeChanges, paymentChanges, replayChanges } from './change-queries.ts';
import { createFeedOpener } from './feed-opener.ts';
import { deliveryMatches, eventMatches, paymentMatches } from './filters.ts';
import type { FoundRow } from './progress.ts';

declare module '../schema/context.ts' {
  interface Services {
    feed: LiveFeed;
  }
}

export type EventFeedArguments = { projectId: string; after?: string | null; types?: readonly string[] | null };
export type DeliveryFeedArguments = { projectId: string; after?: string | null; filter?: DeliveryFilter | null };
export type PaymentFeedArguments = { projectId: string; after?: string | null; filter?: PaymentFilter | null };
export type ReplayFeedArguments = { projectId: string; after?: string | null };
export type NoticeFeedArguments = { projectId: string; after?: string | null };
export type LiveFeed = ReturnType<typeof createLiveFeed>;

/**
 * Live subscriptions to events, deliveries, payments, replays, and notices. Each reads its table from a cursor onward,
 * and then shares the reads of new rows with the other subscriptions to the project.
 */
export function createLiveFeed({ db, bus }: { db: TenantDatabase; bus: Bus }) {
  const opener = createFeedOpener({ db, bus });
  const { pool, prisma } = db;

  const events = opener.feed<Event, 'event', readonly string[] | null>({
    name: 'event',
    idType: 'Event',
    topicOf: topics.events,
    everything: null,
    changesOf: (projectId, types) => eventChanges(pool, projectId, types),
    matches: eventMatches,
    load: async (where) => byId(await prisma.event.findMany({ where })),
  });

  const deliveries = opener.feed<Delivery, 'delivery', DeliveryColumns>({
    name: 'delivery',
    idType: 'Delivery',
    topicOf: topics.deliveries,
    everything: toDeliveryColumns({}),
    changesOf: (projectId, filter) => deliveryChanges(pool, projectId, filter),
    matches: deliveryMatches,
    load: async (where, found) => unchanged(found, await prisma.delivery.findMany({ where })),
    // Claims and lease extensions aren't reported.
    isIgnorable: ({ status }) => status === 'RUNNING',
  });

  const payments = opener.feed<Payment, 'payment', ReturnType<typeof toColumns>>({
    name: 'payment',
    idType: 'Payment',
    topicOf: topics.payments,
    everything: toColumns({}),
    changesOf: (projectId, filter) => paymentChanges(pool, projectId, filter),
    matches: paymentMatches,
    load: async (where, found) => unchanged(found, await prisma.payment.findMany({ where })),
  });

  const replays = opener.feed<Replay, 'replay', null>({
    name: 'replay',
    idType: 'Replay',
    topicOf: topics.replays,
    everything: null,
    changesOf: (projectId) => replayChanges(pool, projectId),
    matches: () => () => true,
    load: async (where, found) => unchanged(found, await prisma.replay.findMany({ where })),
  });

  const notices = opener.feed<Notice, 'notice', null>({
    name: 'notice',
    idType: 'Notice',
    topicOf: topics.notices,
    everything: null,
    changesOf: (projectId) => noticeChanges(pool, projectId),
    matches: () => () => true,
    load: async (where, found) => unchanged(found, await prisma.notice.findMany({ where })),
  });

  return {
    subscriptionCount: opener.subscriptionCount,

    /** For each subscription, the function that returns a cursor for the present moment. */
    now: {
      events: events.now,
      deliveries: deliveries.now,
      payments: payments.now,
      replays: replays.now,
      notices: notices.now,
    },

    /** @throws AppError `NOT_FOUND` if the viewer can't see the project, or `VALIDATION_FAILED` for a bad cursor. */
    events: (viewer: Viewer, args: EventFeedArguments, backlog?: Backlog) =>
      events.open(viewer, args, args.types ?? null, backlog),

    /** @throws AppError as `events` does. */
    deliveries: async (viewer: Viewer, args: DeliveryFeedArguments, backlog?: Backlog) =>
      deliveries.open(viewer, args, toDeliveryColumns(args.filter ?? {}), backlog),

    /** @throws AppError as `events` does. */
    payments: async (viewer: Viewer, args: PaymentFeedArguments, backlog?: Backlog) =>
      payments.open(viewer, args, toColumns(args.filter ?? {}), backlog),

    /** @throws AppError as `events` does. */
    replays: (viewer: Viewer, args: ReplayFeedArguments, backlog?: Backlog) =>
      replays.open(viewer, args, null, backlog),

    /** @throws AppError as `events` does. */
    notices: (viewer: Viewer, args: NoticeFeedArguments, backlog?: Backlog) =>
      notices.open(viewer, args, null, backlog),
  };
}

/** Leaves out rows that changed between the two reads. The next read finds and emits them. */
function unchanged<Row extends { id: string; updatedAt: Date }>(rows: readonly FoundRow[], loaded: Row[]) {
  const found = byId(loaded);
  for (const { id, milliseconds } of rows) {
    if (found.get(id)?.updatedAt.getTime() !== milliseconds) found.delete(id);
  }
  return found;
}

function byId<Row extends { id: string }>(rows: Row[]): Map<string, Row> {
  return new Map(rows.map((row) => [row.id, row]));
}
