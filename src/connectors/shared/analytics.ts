import type { EventType } from '../../events/types.ts';
import type { ConnectorEvent } from '../definition.ts';
import { oneLine, shorten } from './plain-text.ts';

/** Event names in the style that Segment and Mixpanel recommend. */
const EVENT_NAMES: Record<EventType, string> = {
  'payment.verified': 'Payment Verified',
  'payment.settled': 'Payment Settled',
  'payment.failed': 'Payment Failed',
  'customer.first_payment': 'First Payment',
  'customer.milestone': 'Customer Milestone',
  'endpoint.created': 'Endpoint Created',
  'endpoint.pricing_changed': 'Endpoint Pricing Changed',
  'revenue.daily_summary': 'Daily Revenue Summary',
};

/**
 * The properties to send, and their names. Amounts are left out, because only settled payments count as revenue. Prices
 * and milestones remain text, so that no report adds them up. Don't name a property `token`, because Mixpanel would
 * read it as the project token.
 */
const PROPERTY_NAMES: Readonly<Record<string, string>> = {
  paymentId: 'payment_id',
  endpointId: 'endpoint_id',
  endpointPath: 'endpoint_path',
  path: 'endpoint_path',
  method: 'method',
  customerId: 'customer_id',
  asset: 'asset',
  network: 'network',
  transactionHash: 'transaction_hash',
  stage: 'stage',
  reason: 'reason',
  milestoneUsd: 'milestone_usd',
  paymentCount: 'payment_count',
  customerCount: 'customer_count',
  failedCount: 'failed_count',
  priceUsd: 'price_usd',
  previousPriceUsd: 'previous_price_usd',
  date: 'date',
};

export function eventName(event: ConnectorEvent): string {
  return event.test ? 'Connector Test' : EVENT_NAMES[event.type];
}

/** The event's properties: scalars with snake_case names. Text is one line of at most `maxTextLength` characters. */
export function eventProperties(
  event: ConnectorEvent,
  maxTextLength: number,
): Record<string, string | number | boolean> {
  const properties: Record<string, string | number | boolean> = {
    event_id: event.id,
    event_kind: event.type,
    project_id: event.projectId,
  };
  if (event.test) properties.test = true;
  for (const [field, value] of Object.entries(event.data)) {
    const name = PROPERTY_NAMES[field];
    if (!name) continue;
    if (typeof value === 'string') properties[name] = shorten(oneLine(value), maxTextLength);
    if (typeof value === 'number') properties[name] = value;
  }
  return properties;
}

/**
 * The user behind an event: the payer's wallet in lowercase, or else the customer. Each payment by an unknown payer
 * counts as a separate user, so that different payers aren't merged into one busy user. Undefined for test events and
 * for events that no payer caused.
 */
export function actorOf(event: ConnectorEvent): string | undefined {
  if (event.test) return undefined;
  const { payer, customerId, paymentId } = event.data as Readonly<Record<string, string | null | undefined>>;
  return payer?.toLowerCase() ?? customerId ?? paymentId ?? undefined;
}

/**
 * A settled payment's amount in US dollars. Undefined for test events and for all other types, because only settled
 * payments count as revenue.
 */
export function revenueUsd(event: ConnectorEvent): number | undefined {
  return event.type === 'payment.settled' && !event.test ? Number(event.data.amountUsd) : undefined;
}
