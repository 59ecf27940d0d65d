import type { ConnectorType } from '../../../src/connectors/definition.ts';
import type { EventKind } from '../../../src/events/kinds.ts';
import type { Answer } from '../../support/receiver.ts';
import { json, text } from '../support/vendors/vendor.ts';

/** Answers that say no with a status of success, and the reason that is kept. */
export const REFUSALS: [ConnectorType, EventKind, Answer, RegExp][] = [
  ['slack', 'payment.settled', text(200, 'no_text'), /^Slack did not accept the message\.$/],
  [
    'telegram',
    'payment.settled',
    json(200, { ok: false, error_code: 400, description: "Bad Request: can't parse entities" }),
    /^Telegram did not accept/,
  ],
  [
    'bigquery',
    'payment.settled',
    json(200, { insertErrors: [{ index: 0, errors: [{ reason: 'invalid', location: 'kind', message: 'no' }] }] }),
    /^The table does not accept the row \(column kind\): no$/,
  ],
  [
    'linear',
    'payment.failed',
    json(200, { data: { issueCreate: { success: false } } }),
    /^Linear did not create the issue\.$/,
  ],
  [
    'linear',
    'customer.milestone',
    json(200, { errors: [{ message: 'Argument Validation Error', extensions: { type: 'invalid input' } }] }),
    /^Linear did not accept the issue/,
  ],
  [
    'quickbooks',
    'revenue.daily_summary',
    json(200, {
      Fault: { type: 'ValidationFault', Error: [{ code: '6000', Detail: 'A business validation error' }] },
    }),
    /^QuickBooks did not accept the booking: A business/,
  ],
  [
    'hubspot',
    'customer.milestone',
    json(207, { numErrors: 1, errors: [{ category: 'VALIDATION_ERROR', message: 'bad wallet' }] }),
    /^HubSpot did not accept the contact: bad wallet$/,
  ],
  [
    'xero',
    'revenue.daily_summary',
    json(200, { Invoices: [{ HasErrors: true, ValidationErrors: [{ Message: 'Bad date' }] }] }),
    /^Xero did not accept the invoice: Bad date$/,
  ],
  [
    'twilio',
    'payment.settled',
    json(201, { sid: 'SM1', status: 'failed', error_code: 30007 }),
    /^The SMS failed at once \(Twilio error 30007\)\.$/,
  ],
  ['mixpanel', 'payment.settled', json(200, { code: 200, num_records_imported: 0 }), /imported nothing/],
  ['amplitude', 'payment.settled', json(200, { code: 200, events_ingested: 0 }), /took no event/],
  [
    'salesforce',
    'payment.settled',
    json(200, { success: false, errors: [{ message: 'bad value' }] }),
    /^Salesforce did not accept the event: bad value$/,
  ],
  ['email', 'payment.settled', { statusCode: 200 }, /sandbox mode/],
];

/** Answers that say that the target is gone for good, and why the connector is disabled. */
export const GONE: [ConnectorType, Answer, RegExp][] = [
  ['slack', text(404, 'no_service'), /webhook or its workspace was removed/],
  ['discord', json(404, { code: 10015, message: 'Unknown Webhook' }), /webhook was deleted/],
  ['slack', text(410, 'channel_is_archived'), /channel is gone or archived/],
  [
    'telegram',
    json(403, { ok: false, error_code: 403, description: 'Forbidden: bot was blocked by the user' }),
    /no longer in the chat/,
  ],
  ['ga4', text(404, ''), /target no longer exists/],
];
