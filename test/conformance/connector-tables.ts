import type { ConnectorType } from '../../src/connectors/definition.ts';
import type { EventType } from '../../src/events/types.ts';

export const ENDPOINT_ID = 'ep_01jc9x2v5qe3w8k4m6n7p9r0st';

/**
 * What each connector type sends for each event type, or `-` for nothing. The event types are in the documented order:
 * verified, settled, failed, first payment, milestone, endpoint created, pricing changed, daily summary.
 */
export const MATRIX: Record<ConnectorType, string> = {
  slack: 'message message message message message message message message',
  discord: 'message message message message message message message message',
  email: 'message message message message message message message message',
  resend: 'message message message message message message message message',
  telegram: 'message message message message message message message message',
  teams: 'message message message message message message message message',
  twilio: 'message message message message message message message message',
  segment: 'track track track track track track track track',
  mixpanel: 'track track track track track track track track',
  amplitude: 'track track track track track track track track',
  ga4: 'track track track track track track track track',
  zapier: 'envelope envelope envelope envelope envelope envelope envelope envelope',
  n8n: 'envelope envelope envelope envelope envelope envelope envelope envelope',
  make: 'envelope envelope envelope envelope envelope envelope envelope envelope',
  pagerduty: '- resolve trigger - - change change -',
  datadog: 'message message message message message message message message',
  opsgenie: '- close alert - - - - -',
  bigquery: 'row row row row row row row row',
  supabase: 'row row row row row row row row',
  'google-sheets': 'row row row row row row row row',
  dune: 'row row row row row row row row',
  hubspot: '- - - upsert upsert - - -',
  salesforce: 'row row row row row row row row',
  linear: '- - issue - issue - - -',
  quickbooks: '- book - - - - - book',
  xero: '- book - - - - - book',
};

/** How to recognize the request that each word in the table stands for. */
export const WORDS: Record<string, (body: string, url: string) => boolean> = {
  message: (body) => body.includes('evt_'),
  track: (body) => body.includes('evt_'),
  envelope: (body) => JSON.parse(body).data !== undefined,
  row: (body, url) => body.includes('evt_') || url.includes('evt_'),
  resolve: (body) => JSON.parse(body).event_action === 'resolve',
  trigger: (body) => JSON.parse(body).event_action === 'trigger',
  change: (_body, url) => url.endsWith('/v2/change/enqueue'),
  alert: (_body, url) => url.endsWith('/v2/alerts'),
  close: (_body, url) => url.includes('/close?'),
  upsert: (_body, url) => url.endsWith('/contacts/batch/upsert'),
  issue: (body) => JSON.parse(body).query.includes('issueCreate'),
  book: (_body, url) => /\/(salesreceipt|Invoices|BankTransactions)\?/.test(url),
};

/** How to recognize a test event in the last request, or 'skipped' for types that don't send test events. */
export const TEST_MARKS: Record<ConnectorType, string | 'skipped'> = {
  slack: '[Test] ',
  discord: '\\[Test\\] ',
  email: '[Test] ',
  resend: '[Test] ',
  telegram: '<b>[Test] ',
  teams: '[Test] ',
  twilio: '[Test] ',
  segment: 'Connector Test',
  mixpanel: 'Connector Test',
  amplitude: 'connector.test',
  ga4: 'connector_test',
  zapier: 'connector.test',
  n8n: 'connector.test',
  make: 'connector.test',
  pagerduty: '[Test] ',
  datadog: 'test:true',
  opsgenie: '[Test] ',
  bigquery: 'test.',
  supabase: 'test.',
  'google-sheets': 'test.',
  dune: 'test.',
  hubspot: 'skipped',
  salesforce: 'test.',
  linear: '[Test] ',
  quickbooks: 'skipped',
  xero: 'skipped',
};

/** Fields that vendors add up. */
export const MONEY_FIELDS = new Set([
  ...['amount_usd', 'amount_atomic', 'Amount_USD__c', 'amount', 'Amount', 'revenue', 'total', 'value', 'price'],
  ...['quantity', 'UnitPrice', 'UnitAmount', 'x402_total_usd'],
]);
export const SUMMING_CATEGORIES: ReadonlySet<string> = new Set(['Analytics', 'Data', 'CRM', 'Accounting']);

/** The only types that deliver with credentials in the URL, because the vendor doesn't accept them anywhere else. */
export const SECRET_IN_URL: ReadonlySet<string> = new Set([
  ...['slack', 'discord', 'teams', 'telegram', 'zapier', 'n8n', 'make', 'ga4'],
]);
/** Types that ask the vendor what has arrived: before every retry, or only before a retry of an ambiguous attempt. */
export const LOOKS_BEFORE_LATER_TRY: ReadonlySet<string> = new Set(['google-sheets']);
export const LOOKS_AFTER_AMBIGUOUS_TRY: ReadonlySet<string> = new Set(['google-sheets', 'twilio']);

/** The maximum size of a body in bytes: the vendor's documented limit, or else a reasonable one. */
export const MAX_BODY_BYTES: Record<ConnectorType, number> = {
  slack: 13_000,
  discord: 25_000,
  email: 100_000,
  resend: 100_000,
  telegram: 20_000,
  teams: 20_000,
  twilio: 1_600,
  segment: 32_000,
  mixpanel: 1_000_000,
  amplitude: 1_000_000,
  ga4: 130_000,
  zapier: 2_000_000,
  n8n: 16_000_000,
  make: 5_242_880,
  pagerduty: 512_000,
  datadog: 20_000,
  opsgenie: 20_000,
  bigquery: 10_000_000,
  supabase: 1_000_000,
  'google-sheets': 2_000_000,
  dune: 1_200_000_000,
  hubspot: 20_000,
  salesforce: 100_000,
  linear: 100_000,
  quickbooks: 10_000,
  xero: 10_000,
};

/**
 * Rows contain the event type, so sums can filter by it. Where users can't be expected to filter, only settled payments
 * have an amount. Accounting connectors book either days or payments.
 */
const ROWS_WITH_MONEY: EventType[] = ['payment.verified', 'payment.settled', 'payment.failed'];
export const MONEY_TYPES: Partial<Record<ConnectorType, EventType[]>> = {
  segment: ['payment.settled'],
  mixpanel: ['payment.settled'],
  amplitude: ['payment.settled'],
  ga4: ['payment.settled'],
  bigquery: ROWS_WITH_MONEY,
  supabase: ROWS_WITH_MONEY,
  'google-sheets': ROWS_WITH_MONEY,
  dune: ROWS_WITH_MONEY,
  salesforce: ROWS_WITH_MONEY,
  // The customer's total. It replaces the previous one.
  hubspot: ['customer.milestone'],
  quickbooks: ['payment.settled', 'revenue.daily_summary'],
  xero: ['payment.settled', 'revenue.daily_summary'],
};
