import type { DeliveryColumns } from '../features/deliveries/filter.ts';
import type { PaymentColumns } from '../features/payments/filter.ts';
import type { Delivery, Event, Payment } from '../generated/prisma/client.ts';

/** Rows that a follower has read are filtered here, by the same conditions as the statements in `change-queries.ts`. */

export const eventMatches =
  (types: readonly string[] | null) =>
  ({ type }: Pick<Event, 'type'>): boolean =>
    isOneOf(types, type);

export const deliveryMatches =
  ({ status, eventTypes, createdSince, createdBefore, webhookId, connectorId, eventId, ...columns }: DeliveryColumns) =>
  (delivery: DeliveryFacts): boolean =>
    isOneOf(status, delivery.status) &&
    isOneOf(eventTypes, delivery.eventType) &&
    isSame(webhookId, delivery.webhookId) &&
    isSame(connectorId, delivery.connectorId) &&
    isSame(eventId, delivery.eventId) &&
    (createdSince === null || delivery.createdAt >= createdSince) &&
    (createdBefore === null || delivery.createdAt < createdBefore) &&
    isWithin(columns, delivery.outcome === null ? null : delivery.updatedAt);

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
    (columns.maxAtomic === null || payment.amountAtomic.lte(columns.maxAtomic)) &&
    isWithin(columns, payment.failureStage === null ? payment.settledAt : payment.updatedAt);

type DeliveryFacts = Pick<
  Delivery,
  ('status' | 'eventType' | 'createdAt' | 'webhookId' | 'connectorId' | 'eventId') | ('outcome' | 'updatedAt')
>;
type PaymentFacts = Pick<
  Payment,
  | ('id' | 'status' | 'endpointId' | 'customerId' | 'payer' | 'transactionHash')
  | ('paymentIdentifier' | 'failureStage' | 'amountAtomic' | 'settledAt' | 'updatedAt')
>;

const isOneOf = (wanted: readonly string[] | null, value: string) => wanted === null || wanted.includes(value);
const isSame = (wanted: string | null, value: string | null) => wanted === null || wanted === value;

/** Whether something finished in the period. Without bounds, it doesn't have to be finished. */
function isWithin(
  { finishedSince, finishedBefore }: Pick<DeliveryColumns, 'finishedSince' | 'finishedBefore'>,
  finishedAt: Date | null,
): boolean {
  if (finishedSince === null && finishedBefore === null) return true;
  if (finishedAt === null) return false;
  return (
    (finishedSince === null || finishedAt >= finishedSince) && (finishedBefore === null || finishedAt < finishedBefore)
  );
}
