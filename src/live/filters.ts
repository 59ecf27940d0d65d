import type { DeliveryColumns } from '../features/deliveries/filter.ts';
import type { PaymentColumns } from '../features/payments/filter.ts';
import type { Delivery, Event, Payment } from '../generated/prisma/client.ts';

/** Rows that a follower has read are filtered here, by the same conditions as the statements in `change-queries.ts`. */

export const eventMatches =
  (types: readonly string[] | null) =>
  ({ type }: Pick<Event, 'type'>): boolean =>
    isOneOf(types, type);

export const deliveryMatches =
  ({ status, eventTypes, createdSince, createdBefore, webhookId, connectorId, eventId }: DeliveryColumns) =>
  (delivery: DeliveryFacts): boolean =>
    isOneOf(status, delivery.status) &&
    isOneOf(eventTypes, delivery.eventType) &&
    isSame(webhookId, delivery.webhookId) &&
    isSame(connectorId, delivery.connectorId) &&
    isSame(eventId, delivery.eventId) &&
    (createdSince === null || delivery.createdAt >= createdSince) &&
    (createdBefore === null || delivery.createdAt < createdBefore);

export const paymentMatches =
  ({ status, endpointId, customerId, payer, transactionHash, firstId, endId, ...columns }: PaymentColumns) =>
  (payment: PaymentFacts): boolean =>
    isOneOf(status, payment.status) &&
    isSame(endpointId, payment.endpointId) &&
    isSame(customerId, payment.customerId) &&
    isSame(payer, payment.payer) &&
    isSame(transactionHash, payment.transactionHash) &&
    (columns.identifier === null ||
      (payment.paymentIdentifier === columns.identifier && payment.failureStage === null)) &&
    (firstId === null || payment.id >= firstId) &&
    (endId === null || payment.id < endId) &&
    (columns.minAtomic === null || payment.amountAtomic.gte(columns.minAtomic)) &&
    (columns.maxAtomic === null || payment.amountAtomic.lte(columns.maxAtomic));

type DeliveryFacts = Pick<Delivery, 'status' | 'eventType' | 'createdAt' | 'webhookId' | 'connectorId' | 'eventId'>;
type PaymentFacts = Pick<
  Payment,
  | ('id' | 'status' | 'endpointId' | 'customerId' | 'payer' | 'transactionHash')
  | ('paymentIdentifier' | 'failureStage' | 'amountAtomic')
>;

const isOneOf = (wanted: readonly string[] | null, value: string) => wanted === null || wanted.includes(value);
const isSame = (wanted: string | null, value: string | null) => wanted === null || wanted === value;
