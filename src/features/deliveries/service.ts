import { inProject, visibleItem } from '../../auth/access.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { type Bus, topics } from '../../bus/bus.ts';
import { sameRow } from '../../database/tenant-filter.ts';
import { requeue } from '../../delivery/queue/queue.ts';
import { AppError, notFound } from '../../errors.ts';
import type { Delivery, Prisma } from '../../generated/prisma/client.ts';
import { createExplainer, type DeliveryExplanation, type ExplanationOptions } from './explanation/service.ts';
import { type DeliveryFilter, matching } from './filter.ts';

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
      return db.prisma.delivery.findMany({
        ...query,
        where: { AND: [await inProject(db.prisma, viewer, projectId), query.where ?? {}, ...matching(filter)] },
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
      const queued = await db.prisma.delivery.findUnique({ where: sameRow(delivery) });
      if (!queued) throw notFound();
      return queued;
    },
  };
}
