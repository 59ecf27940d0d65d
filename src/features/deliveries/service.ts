import { inProject, requireId, visibleItem } from '../../auth/access.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { type Bus, topics } from '../../bus/bus.ts';
import { requeue } from '../../delivery/queue/queue.ts';
import { AppError, notFound } from '../../errors.ts';
import type { Delivery, DeliveryStatus, Prisma } from '../../generated/prisma/client.ts';
import { firstIdAt } from '../../ids.ts';
import { createExplainer, type DeliveryExplanation, type ExplanationOptions } from './explanation/service.ts';

export type DeliveryFilter = {
  webhookId?: string | null;
  connectorId?: string | null;
  status?: DeliveryStatus[] | null;
  eventTypes?: readonly string[] | null;
  /** Only deliveries created at or after this time. */
  since?: Date | null;
};
/** Far longer than a transaction may take from creating an ID to storing its row. */
const ID_MARGIN_MILLISECONDS = 60 * 60_000;
/** IDs start with their creation time, so an index can skip older deliveries and even whole partitions. */
const idBefore = (since: Date) => firstIdAt('Delivery', Math.max(since.getTime() - ID_MARGIN_MILLISECONDS, 0));
const isFinal = (status: DeliveryStatus) => status !== 'PENDING' && status !== 'RUNNING';

export type DeliveryService = ReturnType<typeof createDeliveryService>;

/** The delivery history. Methods throw AppError `NOT_FOUND`. */
export function createDeliveryService(options: ExplanationOptions & { bus: Bus }) {
  const { db, bus } = options;
  const explain = createExplainer(options);

  return {
    /** Explains a delivery's current status, and what happens next. */
    async explain(viewer: Viewer, id: string): Promise<DeliveryExplanation> {
      const delivery = await db.prisma.delivery.findFirst({ where: visibleItem(viewer, 'Delivery', id) });
      if (!delivery) throw notFound();
      return explain(delivery);
    },

    async list(viewer: Viewer, projectId: string, filter: DeliveryFilter, query: Prisma.DeliveryFindManyArgs) {
      const { webhookId, connectorId, status, eventTypes, since } = filter;
      return db.prisma.delivery.findMany({
        ...query,
        where: {
          AND: [
            query.where ?? {},
            await inProject(db.prisma, viewer, projectId),
            webhookId ? { webhookId: requireId('Webhook', webhookId) } : {},
            connectorId ? { connectorId: requireId('Connector', connectorId) } : {},
            status ? { status: { in: status } } : {},
            // These conditions are redundant, but make the indexes of finished and unfinished deliveries usable.
            status?.every(isFinal) ? { outcome: { in: status } } : {},
            status && !status.some(isFinal) ? { outcome: null } : {},
            status?.some(isFinal) ? { OR: [{ outcome: { in: status.filter(isFinal) } }, { outcome: null }] } : {},
            eventTypes && !eventTypes.includes('*') ? { eventType: { in: [...eventTypes] } } : {},
            since ? { createdAt: { gte: since }, id: { gte: idBefore(since) } } : {},
          ],
        },
        orderBy: { id: 'desc' },
      });
    },

    find(
      viewer: Viewer,
      id: string,
      projectId?: string | null,
      query: Omit<Prisma.DeliveryFindFirstArgs, 'where'> = {},
    ) {
      return db.prisma.delivery.findFirst({ ...query, where: visibleItem(viewer, 'Delivery', id, projectId) });
    },

    /**
     * Sends a delivery again right away, with the same event and `webhook-id`. Attempt numbers keep increasing.
     *
     * @throws AppError `CONFLICT` while it is being sent.
     */
    async resend(viewer: Viewer, id: string, projectId?: string | null): Promise<Delivery> {
      const delivery = await db.prisma.delivery.findFirst({ where: visibleItem(viewer, 'Delivery', id, projectId) });
      if (!delivery) throw notFound();
      const result = await requeue(db.pool, id);
      if (result === 'not_found') throw notFound();
      if (result === 'running') {
        throw new AppError('CONFLICT', { detail: 'The delivery is being sent right now. Wait for its result.' });
      }
      bus.publish(topics.deliveriesDue);
      bus.publish(topics.deliveries(delivery.projectId));
      const queued = await db.prisma.delivery.findUnique({ where: { id } });
      if (!queued) throw notFound();
      return queued;
    },
  };
}
