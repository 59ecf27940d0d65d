import { z } from 'zod';

/**
 * The event types and their payloads in `data`. Amounts are decimal strings (`amountUsd`) and whole atomic units
 * (`amountAtomic`), never floats. Within a version, fields may be added, but never renamed or removed.
 */
const usd = z.string().describe('USD as a decimal string, for example, "0.01".');
const atomic = z.string().describe('Whole atomic units of the asset (millionths for USDC).');
const wallet = z.string().describe('EVM address with an EIP-55 checksum.');

const paymentId = z.string().describe('ID of the payment, `pay_…`.');
const endpointId = z.string().describe('ID of the endpoint, `ep_…`.');
const endpointPath = z.string().describe('The endpoint’s path at the time of the payment.');
const CUSTOMER_ID = 'ID of the customer, `cus_…`.';
const customerId = z.string().describe(CUSTOMER_ID);
const path = z.string().describe('The endpoint’s path.');
const asset = z.string().describe('Symbol of the asset, for example, "USDC".');
const network = z.string().describe('CAIP-2 network, for example, "eip155:8453".');
const TRANSACTION_HASH = 'Hash of the transaction.';
const transactionHash = z.string().describe(TRANSACTION_HASH);
const paymentCount = z.int().describe('Number of settled payments.');

const payment = {
  paymentId,
  endpointId,
  endpointPath,
  method: z.string().describe('HTTP method of the paid request.'),
  customerId: z.string().nullable().describe(CUSTOMER_ID),
  payer: wallet.nullable(),
  payTo: wallet,
  amountUsd: usd,
  amountAtomic: atomic,
  asset,
  assetAddress: wallet,
  network,
};

export const EVENT_PAYLOADS = {
  'payment.verified': z.object(payment),
  'payment.settled': z.object({
    ...payment,
    transactionHash,
    bookingDate: z
      .string()
      .optional()
      .describe(
        'Day of the settlement in the project’s time zone, as YYYY-MM-DD. Omitted if the time zone has always been UTC.',
      ),
  }),
  'payment.failed': z.object({
    ...payment,
    stage: z.enum(['verify', 'upstream', 'settle']).describe('The step at which the payment failed.'),
    reason: z.string().describe('Stable code, for example, "insufficient_funds".'),
    message: z.string().describe('The reason as a sentence.'),
    upstreamStatusCode: z
      .int()
      .optional()
      .describe('Status of the upstream’s response. Omitted if there was no response.'),
    transactionHash: z.string().nullable().describe(TRANSACTION_HASH),
  }),
  'customer.first_payment': z.object({
    customerId,
    payer: wallet,
    paymentId,
    endpointId,
    endpointPath,
    amountUsd: usd,
    amountAtomic: atomic,
    asset,
    network,
    transactionHash,
  }),
  'customer.milestone': z.object({
    customerId,
    payer: wallet,
    paymentId,
    milestoneUsd: usd,
    totalUsd: usd,
    paymentCount,
  }),
  'endpoint.created': z.object({
    endpointId,
    path,
    upstreamUrl: z.string().describe('Up to 300 characters. Query values and most of the path are masked.'),
    priceUsd: usd,
    description: z.string().nullable().describe('The endpoint’s description, up to 300 characters.'),
  }),
  'endpoint.pricing_changed': z.object({
    endpointId,
    path,
    previousPriceUsd: usd,
    priceUsd: usd,
  }),
  'revenue.daily_summary': z.object({
    date: z.string().describe('Day in the project’s time zone, as YYYY-MM-DD.'),
    from: z.string().optional().describe('Start of the day (inclusive), ISO 8601 in UTC. Missing in old events.'),
    to: z.string().optional().describe('End of the day (exclusive), ISO 8601 in UTC. Missing in old events.'),
    timeZone: z.string().optional().describe('The project’s time zone, for example, "UTC". Missing in old events.'),
    totalUsd: usd,
    paymentCount,
    customerCount: z.int().describe('Number of customers with a settled payment.'),
    failedCount: z.int().describe('Number of failed payments.'),
    topEndpoints: z
      .array(z.object({ endpointId, path, totalUsd: usd, paymentCount }))
      .max(10)
      .describe('The endpoints with the most revenue, highest first.'),
  }),
} as const;

export type EventType = keyof typeof EVENT_PAYLOADS;
export type EventPayload<K extends EventType> = z.infer<(typeof EVENT_PAYLOADS)[K]>;

export const EVENT_TYPES = Object.keys(EVENT_PAYLOADS) as EventType[];

/** The name of an event type in schemas, for example, `PaymentSettled`. */
export function schemaName(eventType: EventType): string {
  return eventType.replaceAll(/(?:^|[._])(\w)/g, (_match, letter: string) => letter.toUpperCase());
}

/** The values that `eventTypes` accepts: an event type, or `*` for all. */
export const EVENT_TYPE_FILTERS = [...EVENT_TYPES, '*'] as const;
export type EventTypeFilter = EventType | '*';

/** The event types selected by a list in `eventTypes`. */
export function expandEventTypes(eventTypes: readonly string[]): ReadonlySet<EventType> {
  return new Set(eventTypes.includes('*') ? EVENT_TYPES : (eventTypes as EventType[]));
}

export const EVENT_TYPE_DESCRIPTIONS: Record<EventTypeFilter, string> = {
  'payment.verified': 'A payment signature was verified.',
  'payment.settled': 'A payment was settled on-chain.',
  'payment.failed': 'A payment failed after it was verified.',
  'customer.first_payment': 'A new customer made their first payment.',
  'customer.milestone': 'A customer reached a spending milestone.',
  'endpoint.created': 'An endpoint was created.',
  'endpoint.pricing_changed': 'An endpoint’s price was changed.',
  'revenue.daily_summary': 'The revenue for a day was summarized.',
  '*': 'All events.',
};

/** Incremented for every change to a payload, except when a field is added. */
export const EVENT_PAYLOAD_VERSION = 1;
