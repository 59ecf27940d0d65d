import { z } from 'zod';

/**
 * The event types and their payloads in `data`. Amounts are decimal strings (`amountUsd`) and whole atomic units
 * (`amountAtomic`), never floats. Within a version, fields may be added, but never renamed or removed.
 */
const usd = z.string().describe('USD as a decimal string, for example, "0.01".');
const atomic = z.string().describe('Whole atomic units of the asset (millionths for USDC).');
const wallet = z.string().describe('EVM address with an EIP-55 checksum.');

const payment = {
  paymentId: z.string(),
  endpointId: z.string(),
  endpointPath: z.string(),
  method: z.string().describe('HTTP method of the paid request.'),
  customerId: z.string().nullable(),
  payer: wallet.nullable(),
  payTo: wallet,
  amountUsd: usd,
  amountAtomic: atomic,
  asset: z.string().describe('Symbol of the asset, for example, "USDC".'),
  assetAddress: wallet,
  network: z.string().describe('CAIP-2 network, for example, "eip155:8453".'),
};

export const EVENT_PAYLOADS = {
  'payment.verified': z.object(payment),
  'payment.settled': z.object({ ...payment, transactionHash: z.string() }),
  'payment.failed': z.object({
    ...payment,
    stage: z.enum(['verify', 'upstream', 'settle']),
    reason: z.string().describe('Stable code, for example, "insufficient_funds".'),
    message: z.string(),
    upstreamStatusCode: z.int().optional().describe('Status of the upstream’s response. Missing if there was none.'),
    transactionHash: z.string().nullable(),
  }),
  'customer.first_payment': z.object({
    customerId: z.string(),
    payer: wallet,
    paymentId: z.string(),
    endpointId: z.string(),
    endpointPath: z.string(),
    amountUsd: usd,
    amountAtomic: atomic,
    asset: z.string(),
    network: z.string(),
    transactionHash: z.string(),
  }),
  'customer.milestone': z.object({
    customerId: z.string(),
    payer: wallet,
    paymentId: z.string(),
    milestoneUsd: usd,
    totalUsd: usd,
    paymentCount: z.int(),
  }),
  'endpoint.created': z.object({
    endpointId: z.string(),
    path: z.string(),
    upstreamUrl: z.string().describe('Query values and most of the path are masked.'),
    priceUsd: usd,
    description: z.string().nullable(),
  }),
  'endpoint.pricing_changed': z.object({
    endpointId: z.string(),
    path: z.string(),
    previousPriceUsd: usd,
    priceUsd: usd,
  }),
  'revenue.daily_summary': z.object({
    date: z.string().describe('UTC day as YYYY-MM-DD.'),
    totalUsd: usd,
    paymentCount: z.int(),
    customerCount: z.int(),
    failedCount: z.int(),
    topEndpoints: z
      .array(z.object({ endpointId: z.string(), path: z.string(), totalUsd: usd, paymentCount: z.int() }))
      .max(10),
  }),
} as const;

export type EventKind = keyof typeof EVENT_PAYLOADS;
export type EventPayload<K extends EventKind> = z.infer<(typeof EVENT_PAYLOADS)[K]>;

export const EVENT_KINDS = Object.keys(EVENT_PAYLOADS) as EventKind[];

/** The values that `eventTypes` accepts: an event type, or `*` for all. */
export const EVENT_TYPE_FILTERS = [...EVENT_KINDS, '*'] as const;
export type EventTypeFilter = EventKind | '*';

/** The event types selected by a list in `eventTypes`. */
export function expandEventTypes(eventTypes: readonly string[]): ReadonlySet<EventKind> {
  return new Set(eventTypes.includes('*') ? EVENT_KINDS : (eventTypes as EventKind[]));
}

export const EVENT_KIND_DESCRIPTIONS: Record<EventTypeFilter, string> = {
  'payment.verified': 'A payment signature was verified.',
  'payment.settled': 'A payment was settled on-chain.',
  'payment.failed': 'A payment failed after it was verified.',
  'customer.first_payment': 'A new customer made their first payment.',
  'customer.milestone': 'A customer reached a spending milestone.',
  'endpoint.created': 'An endpoint was created.',
  'endpoint.pricing_changed': 'An endpoint’s price was changed.',
  'revenue.daily_summary': 'The revenue for a UTC day was summarized.',
  '*': 'All events.',
};

/** Incremented for every change to a payload other than an added field. */
export const EVENT_PAYLOAD_VERSION = 1;
