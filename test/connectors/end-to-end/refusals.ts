import type { ConnectorType } from '../../../src/connectors/definition.ts';
import type { EventType } from '../../../src/events/types.ts';
import type { TestResponse } from '../../support/receiver.ts';
import { json, text } from '../support/vendors/vendor.ts';

/** Rejections with a success status, and the reason that the delivery keeps. */
export const REFUSALS: [ConnectorType, EventType, TestResponse, RegExp][] = [
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
    /^Fix this in QuickBooks, .* QuickBooks returned: A business/,
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
    /^Fix this in Xero, .* Xero returned: Bad date$/,
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
];

/** Responses that mean that the destination no longer exists, and the connector's `disabledReason`. */
export const GONE: [ConnectorType, TestResponse, RegExp][] = [
  ['slack', text(404, 'no_service'), /webhook or its workspace was removed/],
  ['discord', json(404, { code: 10015, message: 'Unknown Webhook' }), /webhook was deleted/],
  ['slack', text(404, 'channel_not_found'), /channel was deleted/],
  [
    'telegram',
    json(403, { ok: false, error_code: 403, description: 'Forbidden: the group chat was deleted' }),
    /chat or its user was deleted/,
  ],
  ['ga4', text(404, ''), /can't find the resource that this connector sends events to/],
];

const telegram = (statusCode: number, description: string) =>
  json(statusCode, { ok: false, error_code: statusCode, description });

/** Responses whose cause a person can undo, and the connector's `pausedReason`. */
export const UNDOABLE: [ConnectorType, TestResponse, RegExp][] = [
  ['slack', text(410, 'channel_is_archived'), /^The Slack channel is archived\. Unarchive it/],
  ['telegram', telegram(400, 'Bad Request: TOPIC_CLOSED'), /^The Telegram topic is closed\. Reopen it/],
  ['telegram', telegram(400, 'Bad Request: message thread not found'), /^Telegram can't find the topic/],
  [
    'telegram',
    telegram(400, 'Bad Request: not enough rights to send text messages to the chat'),
    /^The Telegram bot can't post/,
  ],
  ['telegram', telegram(403, 'Forbidden: bot was blocked by the user'), /^The Telegram bot was removed from the chat/],
  ['discord', json(400, { code: 50083, message: 'Thread is archived' }), /^The Discord thread is archived\. Unarchive/],
  [
    'discord',
    json(400, { code: 40067, message: 'A tag is required to create a forum post in this channel' }),
    /^This Discord channel requires a tag/,
  ],
  [
    'twilio',
    json(400, { code: 21610, message: 'Attempt to send to unsubscribed recipient', status: 400 }),
    /^The recipient opted out/,
  ],
  ['twilio', json(404, { code: 20404, message: 'Not found', status: 404 }), /^Twilio can't find the account/],
  ['teams', json(400, { error: { code: 'TriggerInputSchemaMismatch' } }), /^The workflow's trigger expects different/],
  ['email', { statusCode: 200 }, /^SendGrid is in sandbox mode/],
];
