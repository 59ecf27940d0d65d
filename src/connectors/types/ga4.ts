import { createHash } from 'node:crypto';
import { z } from 'zod';
import { SAMPLE_PAYLOADS } from '../../events/samples.ts';
import type { EventType } from '../../events/types.ts';
import { type ConnectorEvent, defineConnector } from '../definition.ts';
import { choiceField, secretField, textField } from '../fields.ts';
import { actorOf, eventProperties, revenueUsd } from '../shared/analytics.ts';
import { classifyByStatus, parseJson, valueAt, vendorText } from '../shared/classify.ts';
import { oneLine, shorten } from '../shared/plain-text.ts';

const HOSTS = { global: 'www.google-analytics.com', eu: 'region1.google-analytics.com' } as const;
const MAX_PARAM_LENGTH = 100;
const MAX_AGE_MILLISECONDS = 72 * 60 * 60 * 1000;
const DAY_SECONDS = 24 * 60 * 60;

/** Google accepts only letters, digits, and underscores in names. `purchase` is one of its standard events. */
const EVENT_NAMES: Record<EventType, string> = {
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
    description:
      'In Google Analytics: Admin > Data streams > your web stream. Use the measurement ID, not the stream ID.',
    example: 'G-1A2B3C4D5E',
    pattern: /^G-[A-Z0-9]{4,20}$/,
    hint: 'Must be a measurement ID such as G-1A2B3C4D5E.',
  }),
  apiSecret: secretField({
    title: 'API secret',
    description:
      'In Google Analytics: Admin > Data streams > your web stream > Measurement Protocol API secrets > Create.',
    pattern: /^[\w-]{8,128}$/,
    hint: 'Must be the secret value: letters, digits, -, and _ only.',
  }),
  region: choiceField(['global', 'eu'], {
    title: 'Region',
    description: 'Choose eu to collect the data in the European Union. Default: global.',
    decidesAddress: true,
  }).optional(),
});
type Config = z.infer<typeof config>;

/** https://developers.google.com/analytics/devguides/collection/protocol/ga4/reference */
export const ga4 = defineConnector({
  type: 'ga4',
  title: 'Google Analytics 4',
  category: 'Analytics',
  description: 'Sends every event to Google Analytics. Settled payments are sent as purchases.',
  documentationUrl: 'https://developers.google.com/analytics/devguides/collection/protocol/ga4/sending-events',
  config,
  supportsEvent: () => true,

  build([event], settings, { now }) {
    if (now.getTime() - Date.parse(event.timestamp) > MAX_AGE_MILLISECONDS) {
      return { skip: "Google Analytics doesn't accept events older than 72 hours." };
    }
    return request('/mp/collect', event, settings);
  },

  classify(response, { events: [event], config: { apiSecret }, now }) {
    const { statusCode } = response;
    if (statusCode >= 200 && statusCode < 300) {
      return {
        kind: 'delivered',
        note: 'Sent. Google returns 204 even if the API secret is wrong, so check Realtime in Google Analytics.',
      };
    }
    // Google deduplicates only purchases, so other events are retried only if Google can't have counted them.
    const isPurchase = event !== undefined && revenueUsd(event) !== undefined;
    if (!isPurchase && statusCode >= 500 && statusCode !== 503) {
      return {
        kind: 'drop',
        reason: `Not retried, because Google Analytics may have counted the event already (HTTP ${statusCode}).`,
      };
    }
    return classifyByStatus('Google Analytics', response, {
      detail: vendorText(messageOf(response.body), [apiSecret]),
      now,
    });
  },

  // Google never says whether the ID and secret are valid, but its validation server checks the format of an event.
  probe: {
    build: (settings) => request('/debug/mp/collect', SAMPLE_PURCHASE, settings, { validated: true }),
    classify({ statusCode, body }, { apiSecret }) {
      const problems = valueAt(parseJson(body), 'validationMessages');
      if (statusCode !== 200 || !Array.isArray(problems)) {
        return { ok: false, message: `Google couldn't validate the event (HTTP ${statusCode}). Try again later.` };
      }
      const problem = vendorText(valueAt(problems, 0, 'description'), [apiSecret]);
      if (problem) return { ok: false, message: `Google would reject the events: ${problem}` };
      return {
        ok: true,
        message:
          "The event format is valid, but Google doesn't check the ID and secret. Send a test event and look for it in Realtime.",
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
      // The format of the IDs in Google's cookies. Google forbids personal data such as wallets, so only a hash is
      // sent.
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
    // Without the next two parameters, Google leaves the user out of most reports. A session is one UTC day.
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
