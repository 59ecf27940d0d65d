import { inVisibleProject, requireId, visibleItem } from '../../auth/access.ts';
import type { Viewer } from '../../auth/viewer.ts';
import type { Database } from '../../database/client.ts';
import { requeue } from '../../delivery/queue.ts';
import { AppError, notFound } from '../../errors.ts';
import type { Delivery, DeliveryStatus, Prisma } from '../../generated/prisma/client.ts';
import { type Bus, topics } from '../../live/bus.ts';

export type DeliveryFilter = {
  webhookId?: string | null;
  connectorId?: string | null;
  status?: DeliveryStatus[] | null;
  eventTypes?: readonly string[] | null;
  /** Created at or after. */
  since?: Date | null;
};
export type DeliveryService = ReturnType<typeof createDeliveryService>;

/** The delivery history. Methods throw AppError `NOT_FOUND`. */
export function createDeliveryService({ db, bus }: { db: Database; bus: Bus }) {
  return {
    list(viewer: Viewer, projectId: string, filter: DeliveryFilter, query: Prisma.DeliveryFindManyArgs) {
      const { webhookId, connectorId, status, eventTypes, since } = filter;
      return db.prisma.delivery.findMany({
        ...query,
        where: {
          AND: [
            query.where ?? {},
            { projectId, ...inVisibleProject(viewer) },
            webhookId ? { webhookId: requireId('Webhook', webhookId) } : {},
            connectorId ? { connectorId: requireId('Connector', connectorId) } : {},
            status ? { status: { in: status } } : {},
            eventTypes && !eventTypes.includes('*') ? { eventType: { in: [...eventTypes] } } : {},
            since ? { createdAt: { gte: since } } : {},
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
     * Sends a delivery again, now, with the same event and the same `webhook-id`; its attempts go on counting.
     *
     * @throws AppError `CONFLICT` while it is being sent.
     */
    async resend(viewer: Viewer, id: string, projectId?: string | null): Promise<Delivery> {
      const delivery = await db.prisma.delivery.findFirst({ where: visibleItem(viewer, 'Delivery', id, projectId) });
      if (!delivery) throw notFound();
      const result = await requeue(db.pool, id);
      if (result === 'running') {
        throw new AppError('CONFLICT', { detail: 'The delivery is being sent right now. Wait for its result.' });
      }
      bus.publish(topics.deliveriesDue);
      bus.publish(topics.deliveries(delivery.projectId));
      return db.prisma.delivery.findUniqueOrThrow({ where: { id } });
    },
  };
}
