import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { EventKind } from '../../events/kinds.ts';
import { SAMPLE_PAYLOADS } from '../../events/samples.ts';
import { type ConnectorEvent, defineConnector } from '../definition.ts';
import { choiceField, secretField, textField } from '../fields.ts';
import { actorOf, eventProperties, revenueUsd } from '../shared/analytics.ts';
import { classifyByStatus, parseJson, valueAt, vendorText } from '../shared/classify.ts';
import { oneLine, shorten } from '../shared/plain-text.ts';

const HOSTS = { global: 'www.google-analytics.com', eu: 'region1.google-analytics.com' } as const;
const MAX_PARAM_LENGTH = 100;
const MAX_AGE_MILLISECONDS = 72 * 60 * 60 * 1000;
const DAY_SECONDS = 24 * 60 * 60;

/** Google takes letters, digits and underscores only, and knows `purchase`. */
const EVENT_NAMES: Record<EventKind, string> = {
  'payment.verified': 'payment_verified',
  'payment.settled': 'purchase',
  'payment.failed': 'payment_failed',
  'customer.first_payment': 'customer_first_payment',
  'customer.milestone': 'customer_milestone',
  'endpoint.created': 'endpoint_created',
  'endpoint.pricing_changed': 'endpoint_pricing_changed',
  'revenue.daily_summary': 'revenue_daily_summary',
};

const config = z.strictObject({
  measurementId: textField({
    title: 'Measurement ID',
    description: 'Google Analytics: Admin, Data streams, your web stream. Not the stream ID.',
    example: 'G-1A2B3C4D5E',
    pattern: /^G-[A-Z0-9]{4,20}$/,
    hint: 'Must look like G-1A2B3C4D5E.',
  }),
  apiSecret: secretField({
    title: 'API secret',
    description: 'The same page: Measurement Protocol API secrets, Create.',
    pattern: /^[\w-]{8,128}$/,
    hint: 'Paste the secret value: letters, digits, - and _ only.',
  }),
  region: choiceField(['global', 'eu'], {
    title: 'Region',
    description: 'Choose eu to have Google take the data in inside the European Union.',
    decidesAddress: true,
  }).optional(),
});
type Config = z.infer<typeof config>;

/** https://developers.google.com/analytics/devguides/collection/protocol/ga4/reference */
export const ga4 = defineConnector({
  type: 'ga4',
  title: 'Google Analytics 4',
  category: 'Analytics',
  description: 'Every event becomes a Google Analytics event; a settled payment is a purchase.',
  documentationUrl: 'https://developers.google.com/analytics/devguides/collection/protocol/ga4/sending-events',
  config,
  carries: () => true,

  build([event], settings, { now }) {
    if (now.getTime() - Date.parse(event.timestamp) > MAX_AGE_MILLISECONDS) {
      return { skip: 'Google Analytics takes no events that are older than 72 hours.' };
    }
    return request('/mp/collect', event, settings);
  },

  classify(response, { events: [event], config: { apiSecret }, now }) {
    const { statusCode } = response;
    if (statusCode >= 200 && statusCode < 300) {
      return { kind: 'delivered', note: 'Google answers 204 to everything, also to a wrong secret.' };
    }
    // Google knows a second copy only of a purchase, so others are tried again only where the first was turned away.
    const isPurchase = event !== undefined && revenueUsd(event) !== undefined;
    if (!isPurchase && statusCode >= 500 && statusCode !== 503) {
      return { kind: 'drop', reason: `Google Analytics may have counted the event already (HTTP ${statusCode}).` };
    }
    return classifyByStatus(response, { detail: vendorText(messageOf(response.body), [apiSecret]), now });
  },

  // Google never says whether ID and secret are right; its validation server at least checks the shape of an event.
  probe: {
    build: (settings) => request('/debug/mp/collect', SAMPLE_PURCHASE, settings, { validated: true }),
    classify({ statusCode, body }, { apiSecret }) {
      const problems = valueAt(parseJson(body), 'validationMessages');
      if (statusCode !== 200 || !Array.isArray(problems)) {
        return { ok: false, message: `Google could not check the event (HTTP ${statusCode}). Try again later.` };
      }
      const problem = vendorText(valueAt(problems, 0, 'description'), [apiSecret]);
      if (problem) return { ok: false, message: `Google would not accept the events: ${problem}` };
      return {
        ok: true,
        message:
          'Google accepts the shape of the events, but never says whether ID and secret are right: look in Realtime.',
      };
    },
  },
});

function request(path: string, event: ConnectorEvent, settings: Config, options: { validated?: boolean } = {}) {
  const { measurementId, apiSecret, region = 'global' } = settings;
  const query = new URLSearchParams({ measurement_id: measurementId, api_secret: apiSecret });
  const hash = createHash('sha256')
    .update(`${event.projectId}:${actorOf(event) ?? ''}`)
    .digest();
  return {
    method: 'POST' as const,
    url: `https://${HOSTS[region]}${path}?${query}`,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      // The form of the ids in Google's own cookies. Wallets are personal data to Google, so only a hash leaves.
      client_id: `${hash.readUInt32BE(0)}.${hash.readUInt32BE(4)}`,
      ...(actorOf(event) ? { user_id: hash.toString('hex').slice(0, 32) } : {}),
      ...(options.validated
        ? { validation_behavior: 'ENFORCE_RECOMMENDATIONS' }
        : { timestamp_micros: Date.parse(event.timestamp) * 1000 }),
      events: [{ name: event.test ? 'connector_test' : EVENT_NAMES[event.type], params: params(event) }],
    }),
  };
}

function params(event: ConnectorEvent) {
  const seconds = Math.floor(Date.parse(event.timestamp) / 1000);
  return {
    // Without these two Google leaves the user out of most reports. One UTC day is one session.
    session_id: String(seconds - (seconds % DAY_SECONDS)),
    engagement_time_msec: 1,
    ...(event.test ? { debug_mode: 1 } : {}),
    ...eventProperties(event, MAX_PARAM_LENGTH),
    ...purchase(event),
  };
}

function purchase(event: ConnectorEvent) {
  const value = revenueUsd(event);
  if (value === undefined || event.type !== 'payment.settled') return {};
  const { paymentId, endpointId, endpointPath } = event.data;
  return {
    transaction_id: paymentId,
    value,
    currency: 'USD',
    items: [
      { item_id: endpointId, item_name: shorten(oneLine(endpointPath), MAX_PARAM_LENGTH), price: value, quantity: 1 },
    ],
  };
}

function messageOf(body: string): unknown {
  return valueAt(parseJson(body), 'error', 'message');
}

const SAMPLE_PURCHASE: ConnectorEvent = {
  id: 'evt_00000000000000000000000000',
  type: 'payment.settled',
  timestamp: '2026-01-02T03:04:05.000Z',
  projectId: 'proj_00000000000000000000000000',
  test: false,
  data: SAMPLE_PAYLOADS['payment.settled'],
};
