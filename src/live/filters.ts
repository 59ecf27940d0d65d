import type { PaymentColumns } from '../features/payments/filter.ts';
import type { Delivery, Event, Payment } from '../generated/prisma/client.ts';
import type { DeliveryFilter } from './looks.ts';

/** Rows that a follower has read are filtered here, by the same conditions as the statements in `looks.ts`. */

export const eventMatches =
  (types: readonly string[] | null) =>
  ({ type }: Pick<Event, 'type'>): boolean =>
    isOneOf(types, type);

export const deliveryMatches =
  ({ status, eventTypes, createdSince }: DeliveryFilter) =>
  (delivery: Pick<Delivery, 'status' | 'eventType' | 'createdAt'>): boolean =>
    isOneOf(status, delivery.status) &&
    isOneOf(eventTypes, delivery.eventType) &&
    (createdSince === null || delivery.createdAt >= createdSince);

export const paymentMatches =
  ({ status, endpointId, customerId, payer, transactionHash, firstId, endId }: PaymentColumns) =>
  (payment: Pick<Payment, 'id' | 'status' | 'endpointId' | 'customerId' | 'payer' | 'transactionHash'>): boolean =>
    isOneOf(status, payment.status) &&
    isSame(endpointId, payment.endpointId) &&
    isSame(customerId, payment.customerId) &&
    isSame(payer, payment.payer) &&
    isSame(transactionHash, payment.transactionHash) &&
    (firstId === null || payment.id >= firstId) &&
    (endId === null || payment.id < endId);

const isOneOf = (wanted: readonly string[] | null, value: string) => wanted === null || wanted.includes(value);
const isSame = (wanted: string | null, value: string | null) => wanted === null || wanted === value;
