import type { EventKind } from '../../events/kinds.ts';
import type { ConnectorEvent } from '../definition.ts';
import { oneLine, shorten } from './plain-text.ts';

/** Event names in the style of Segment's and Mixpanel's own specifications. */
const EVENT_NAMES: Record<EventKind, string> = {
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
 * What leaves as a property, and under which name. Amounts are not here: they are sums only once, on a settled payment.
 * The prices and the milestone stay text, so that no report adds them up. Nothing may be called `token`, which Mixpanel
 * reads as the project token.
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

/** The flat facts of an event: scalars with snake_case names, texts of one line with at most `maxTextLength` characters. */
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
 * Who did it: the payer's wallet in lower case, else the customer. A payment of an unknown payer stands for itself,
 * so that strangers are not taken for one busy user. Undefined for what the seller's project did, and for test events.
 */
export function actorOf(event: ConnectorEvent): string | undefined {
  if (event.test) return undefined;
  const { payer, customerId, paymentId } = event.data as Readonly<Record<string, string | null | undefined>>;
  return payer?.toLowerCase() ?? customerId ?? paymentId ?? undefined;
}

/** The dollars of a settled payment: the one event that carries money. Undefined for all others and for test events. */
export function revenueUsd(event: ConnectorEvent): number | undefined {
  return event.type === 'payment.settled' && !event.test ? Number(event.data.amountUsd) : undefined;
}
