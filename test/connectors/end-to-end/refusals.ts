import type { ConnectorType } from '../../../src/connectors/definition.ts';
import type { EventKind } from '../../../src/events/kinds.ts';
import type { Answer } from '../../support/receiver.ts';
import { json, text } from '../support/vendors/vendor.ts';

/** Rejections with a success status, and the reason that the delivery keeps. */
export const REFUSALS: [ConnectorType, EventKind, Answer, RegExp][] = [
  ['slack', 'payment.settled', text(200, 'no_text'), /^Slack rejected the message\.$/],
  [
    'telegram',
    'payment.settled',
    json(200, { ok: false, error_code: 400, description: "Bad Request: can't parse entities" }),
    /^Telegram rejected/,
  ],
  [
    'bigquery',
    'payment.settled',
    json(200, { insertErrors: [{ index: 0, errors: [{ reason: 'invalid', location: 'kind', message: 'no' }] }] }),
    /^BigQuery rejected the row \(column kind\): no$/,
  ],
  [
    'linear',
    'payment.failed',
    json(200, { data: { issueCreate: { success: false } } }),
    /^Linear didn't create the issue\.$/,
  ],
  [
    'linear',
    'customer.milestone',
    json(200, { errors: [{ message: 'Argument Validation Error', extensions: { type: 'invalid input' } }] }),
    /^Linear rejected the issue/,
  ],
  [
    'quickbooks',
    'revenue.daily_summary',
    json(200, {
      Fault: { type: 'ValidationFault', Error: [{ code: '2010', Detail: 'A business validation error' }] },
    }),
    /^QuickBooks rejected the receipt: A business/,
  ],
  [
    'hubspot',
    'customer.milestone',
    json(207, { numErrors: 1, errors: [{ category: 'VALIDATION_ERROR', message: 'bad wallet' }] }),
    /^HubSpot rejected the contact: bad wallet$/,
  ],
  [
    'xero',
    'revenue.daily_summary',
    json(200, { Invoices: [{ HasErrors: true, ValidationErrors: [{ Message: 'Bad date' }] }] }),
    /^Xero rejected the invoice: Bad date$/,
  ],
  [
    'twilio',
    'payment.settled',
    json(201, { sid: 'SM1', status: 'failed', error_code: 30007 }),
    /^The SMS failed immediately \(Twilio error 30007\)\.$/,
  ],
  ['mixpanel', 'payment.settled', json(200, { code: 200, num_records_imported: 0 }), /imported nothing/],
  ['amplitude', 'payment.settled', json(200, { code: 200, events_ingested: 0 }), /ingested no event/],
  [
    'salesforce',
    'payment.settled',
    json(200, { success: false, errors: [{ message: 'bad value' }] }),
    /^Salesforce rejected the event: bad value$/,
  ],
  ['email', 'payment.settled', { statusCode: 200 }, /sandbox mode/],
];

/** Responses that mean that the destination no longer exists, and the connector's `disabledReason`. */
export const GONE: [ConnectorType, Answer, RegExp][] = [
  ['slack', text(404, 'no_service'), /webhook or its workspace was removed/],
  ['discord', json(404, { code: 10015, message: 'Unknown Webhook' }), /webhook was deleted/],
  ['slack', text(410, 'channel_is_archived'), /channel was deleted or archived/],
  [
    'telegram',
    json(403, { ok: false, error_code: 403, description: 'Forbidden: bot was blocked by the user' }),
    /removed from the chat/,
  ],
  ['ga4', text(404, ''), /can't find the resource that this connector sends events to/],
];
