import { createdBetween } from '../../database/created-between.ts';
import { distinct } from '../../database/distinct.ts';
import { invalidField } from '../../errors.ts';
import type { EventType } from '../../events/types.ts';
import type { Prisma } from '../../generated/prisma/client.ts';
import { type IdType, typeOfId } from '../../ids.ts';

export type EventFilter = {
  eventTypes?: readonly string[] | null;
  /** The endpoint, payment, or customer that an event is about. */
  resourceId?: string | null;
  from?: Date | null;
  to?: Date | null;
};

/** The events about a type of resource, and the field of their data that has its ID. */
export const SUBJECTS = {
  Endpoint: { field: 'endpointId', types: ['endpoint.created', 'endpoint.pricing_changed'] },
  Payment: { field: 'paymentId', types: ['payment.verified', 'payment.settled', 'payment.failed'] },
  Customer: { field: 'customerId', types: ['customer.first_payment', 'customer.milestone'] },
} as const satisfies Partial<Record<IdType, { field: string; types: readonly EventType[] }>>;

export type Subject = { type: keyof typeof SUBJECTS; id: string };

/** @throws AppError `VALIDATION_FAILED` if there are no events about this type of resource. */
export function subjectOf(resourceId: string): Subject {
  const type = typeOfId(resourceId);
  if (!type || !(type in SUBJECTS)) {
    throw invalidField('/resourceId', 'Must be the ID of an endpoint, a payment, or a customer.');
  }
  return { type: type as Subject['type'], id: resourceId };
}

/** The conditions other than the resource. */
export function matching({ eventTypes, ...period }: EventFilter): Prisma.EventWhereInput[] {
  return [eventTypes ? { type: { in: distinct(eventTypes) } } : {}, createdBetween('Event', 'timestamp', period)];
}
