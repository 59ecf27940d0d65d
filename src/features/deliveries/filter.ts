import { requireId } from '../../auth/access.ts';
import { createdBetween, timeIn } from '../../database/created-between.ts';
import { distinct } from '../../database/distinct.ts';
import type { DeliveryStatus, Prisma } from '../../generated/prisma/client.ts';
import { firstIdAt, millisecondsOfId } from '../../ids.ts';

export type DeliveryFilter = {
  webhookId?: string | null;
  connectorId?: string | null;
  eventId?: string | null;
  status?: DeliveryStatus[] | null;
  eventTypes?: readonly string[] | null;
  /** Only deliveries created at or after this time. */
  from?: Date | null;
  /** Only deliveries created before this time. */
  to?: Date | null;
  /** Only deliveries that reached a final status at or after this time. */
  finishedFrom?: Date | null;
  /** Only deliveries that reached a final status before this time. */
  finishedTo?: Date | null;
  /** Former name of `from`. */
  since?: Date | null;
};

/** Much longer than the time between the creation of an event's ID and the IDs of its deliveries. */
const SAME_EVENT_MILLISECONDS = 10_000;
const isFinal = (status: DeliveryStatus) => status !== 'PENDING' && status !== 'RUNNING';

/**
 * A filter as table columns: null for unset fields.
 *
 * @throws AppError `NOT_FOUND` for malformed IDs.
 */
export function toColumns(filter: DeliveryFilter) {
  const { webhookId, connectorId, eventId, status, eventTypes, from, to, since } = filter;
  const { finishedFrom, finishedTo } = filter;
  return {
    status: status ? distinct(status) : null,
    eventTypes: eventTypes && !eventTypes.includes('*') ? distinct(eventTypes) : null,
    webhookId: webhookId ? requireId('Webhook', webhookId) : null,
    connectorId: connectorId ? requireId('Connector', connectorId) : null,
    eventId: eventId ? requireId('Event', eventId) : null,
    createdSince: from && since ? new Date(Math.max(from.getTime(), since.getTime())) : (from ?? since ?? null),
    createdBefore: to ?? null,
    finishedSince: finishedFrom ?? null,
    finishedBefore: finishedTo ?? null,
  };
}

export type DeliveryColumns = ReturnType<typeof toColumns>;

/** The same filter for Prisma, with redundant conditions so that indexes can be used. */
export function matching(filter: DeliveryFilter): Prisma.DeliveryWhereInput[] {
  const { status, eventTypes, webhookId, connectorId, eventId, ...times } = toColumns(filter);
  const finished = timeIn({ from: times.finishedSince, to: times.finishedBefore });
  return [
    webhookId ? { webhookId } : {},
    connectorId ? { connectorId } : {},
    eventId ? { eventId, id: idsNear(eventId) } : {},
    status ? { status: { in: status } } : {},
    // The indexes for finished and unfinished deliveries use these conditions.
    status?.every(isFinal) ? { outcome: { in: status } } : {},
    status && !status.some(isFinal) ? { outcome: null } : {},
    status?.some(isFinal) ? { OR: [{ outcome: { in: status.filter(isFinal) } }, { outcome: null }] } : {},
    eventTypes ? { eventType: { in: eventTypes } } : {},
    createdBetween('Delivery', 'createdAt', { from: times.createdSince, to: times.createdBefore }),
    // The time at which statistics count deliveries.
    finished ? { outcome: { not: null }, updatedAt: finished } : {},
  ];
}

/**
 * There is no index on a delivery's event. A delivery's ID is created right after the event's, so only a few deliveries
 * have to be checked.
 */
function idsNear(eventId: string): { gte: string; lt: string } {
  const milliseconds = millisecondsOfId(eventId);
  return {
    gte: firstIdAt('Delivery', milliseconds),
    lt: firstIdAt('Delivery', milliseconds + SAME_EVENT_MILLISECONDS),
  };
}
