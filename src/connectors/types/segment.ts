import { z } from 'zod';
import { EVENT_PAYLOAD_VERSION } from '../../events/types.ts';
import { type ConnectorEvent, defineConnector } from '../definition.ts';
import { choiceField, secretField } from '../fields.ts';
import { actorOf, eventName, eventProperties, revenueUsd } from '../shared/analytics.ts';
import {
  classifyByStatus,
  looksLikeJson,
  parseJson,
  retry,
  retryAfterSeconds,
  valueAt,
  vendorText,
} from '../shared/classify.ts';
import { derivedId } from '../shared/derived-id.ts';

const URLS = {
  us: 'https://api.segment.io/v1/track',
  eu: 'https://events.eu1.segmentapis.com/v1/track',
} as const;

const config = z.strictObject({
  writeKey: secretField({
    title: 'Write key',
    description: 'In Segment: Connections > Sources > your HTTP API source > Settings > API Keys.',
    pattern: /^[\w-]{8,128}$/,
    hint: "Must be the source's write key: letters, digits, -, and _ only.",
  }),
  region: choiceField(['us', 'eu'], {
    title: 'Region',
    description:
      'The region of your workspace: us (default) or eu. If the region is wrong, Segment returns 200 but discards the event.',
    decidesAddress: true,
  }).optional(),
});

// Segment limits an event to 32 KB.
const MAX_TEXT_LENGTH = 500;
// Segment's own library retries these statuses in addition to 408, 429, and 5xx, but not the server errors below.
const ALSO_RETRIED: ReadonlySet<number> = new Set([410, 460]);
const FINAL_SERVER_ERRORS: ReadonlySet<number> = new Set([501, 505, 511]);
const DEFAULT_THROTTLE_SECONDS = 60;

/** https://segment.com/docs/connections/sources/catalog/libraries/server/http-api/ */
export const segment = defineConnector({
  type: 'segment',
  title: 'Segment',
  category: 'Analytics',
  description: 'Sends every event to a Segment source as a track call. Settled payments are sent as Order Completed.',
  documentationUrl: 'https://segment.com/docs/connections/find-writekey/',
  config,
  supportsEvent: () => true,

  build([event], { writeKey, region = 'us' }, { connectorId }) {
    return {
      method: 'POST',
      url: URLS[region],
      headers: { 'content-type': 'application/json', authorization: `Basic ${btoa(`${writeKey}:`)}` },
      body: JSON.stringify({
        userId: actorOf(event) ?? event.projectId,
        // Segment's built-in mappings to other tools record revenue only from events with this name.
        event: event.type === 'payment.settled' && !event.test ? 'Order Completed' : eventName(event),
        messageId: derivedId(event.id, connectorId),
        timestamp: event.timestamp,
        properties: { ...eventProperties(event, MAX_TEXT_LENGTH), ...orderProperties(event) },
        context: { library: { name: 'tollgate', version: String(EVENT_PAYLOAD_VERSION) } },
      }),
    };
  },

  classify(response, { config: { writeKey }, now }) {
    const { statusCode } = response;
    if (statusCode === 200) {
      if (valueAt(parseJson(response.body), 'success') !== true) {
        return retry('Segment returned 200 without confirming the event.');
      }
      return { kind: 'delivered', note: 'Segment confirms every event, even with an unknown write key.' };
    }
    if (statusCode === 429) {
      return retry('Segment is rate limiting requests.', retryAfterSeconds(response, now) ?? DEFAULT_THROTTLE_SECONDS);
    }
    if (ALSO_RETRIED.has(statusCode)) return retry(`Segment couldn't accept the event right now (HTTP ${statusCode}).`);
    if (FINAL_SERVER_ERRORS.has(statusCode)) {
      return { kind: 'drop', reason: `Segment doesn't support this request (HTTP ${statusCode}).` };
    }
    const detail = vendorText(valueAt(parseJson(response.body), 'message'), [writeKey]);
    return classifyByStatus('Segment', response, { expected: [200], detail, now });
  },

  probe: {
    build: ({ writeKey }) => ({
      method: 'GET',
      url: `https://cdn.segment.com/v1/projects/${encodeURIComponent(writeKey)}/settings`,
      headers: {},
    }),
    classify({ statusCode, body }) {
      if (statusCode === 200 && looksLikeJson(body)) return { ok: true, message: 'The write key is valid.' };
      if (statusCode === 404 || statusCode === 400) {
        return { ok: false, message: "The write key isn't valid. Copy it again from the source." };
      }
      return { ok: false, message: `Segment couldn't check the write key (HTTP ${statusCode}). Try again later.` };
    },
  },
});

function orderProperties(event: ConnectorEvent) {
  const revenue = revenueUsd(event);
  if (revenue === undefined || event.type !== 'payment.settled') return {};
  return { order_id: event.data.paymentId, revenue, total: revenue, currency: 'USD' };
}
