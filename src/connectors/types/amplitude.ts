import { z } from 'zod';
import { type ConnectorEvent, defineConnector } from '../definition.ts';
import { choiceField, secretField } from '../fields.ts';
import { actorOf, eventProperties, revenueUsd } from '../shared/analytics.ts';
import { classifyByStatus, parseJson, retry, retryAfterSeconds, valueAt, vendorText } from '../shared/classify.ts';
import { derivedId } from '../shared/derived-id.ts';

const URLS = {
  us: 'https://api2.amplitude.com/2/httpapi',
  eu: 'https://api.eu.amplitude.com/2/httpapi',
} as const;
// Amplitude truncates longer strings.
const MAX_TEXT_LENGTH = 1024;
// How long to wait after a 429, according to Amplitude's documentation.
const THROTTLE_SECONDS = 30;
const DAILY_QUOTA_SECONDS = 60 * 60;

const config = z.strictObject({
  apiKey: secretField({
    title: 'API key',
    description:
      'In Amplitude: Settings > Organization settings > Projects > your project. Use the API key, not the secret key.',
    pattern: /^[A-Za-z0-9]{16,64}$/,
    hint: "Must be the project's API key: letters and digits only.",
  }),
  region: choiceField(['us', 'eu'], {
    title: 'Region',
    description: 'The data region of your Amplitude project: us (default) or eu.',
    decidesAddress: true,
  }).optional(),
});

/** https://amplitude.com/docs/apis/analytics/http-v2 */
export const amplitude = defineConnector({
  type: 'amplitude',
  title: 'Amplitude',
  category: 'Analytics',
  description: 'Sends every event to Amplitude, with the payer as the user. Settled payments include revenue.',
  documentationUrl: 'https://amplitude.com/docs/apis/authentication',
  config,
  supportsEvent: () => true,

  build([event], { apiKey, region = 'us' }, { connectorId }) {
    return {
      method: 'POST',
      url: URLS[region],
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({
        api_key: apiKey,
        events: [
          {
            event_type: event.test ? 'connector.test' : event.type,
            // Amplitude throttles individual busy users, so payments by unknown payers never share a user.
            user_id: actorOf(event) ?? event.projectId,
            insert_id: derivedId(event.id, connectorId),
            time: Date.parse(event.timestamp),
            ...revenueProperties(event),
            event_properties: eventProperties(event, MAX_TEXT_LENGTH),
          },
        ],
        options: { min_id_length: 1 },
      }),
    };
  },

  classify(response, { config: { apiKey }, now }) {
    const json = parseJson(response.body);
    const detail = vendorText(valueAt(json, 'error'), [apiKey]);
    switch (response.statusCode) {
      case 200: {
        const ingested = valueAt(json, 'events_ingested');
        if (typeof ingested === 'number' && ingested >= 1) return { kind: 'delivered' };
        if (json === undefined) return retry('Amplitude responded without confirming the event.');
        return { kind: 'drop', reason: 'Amplitude returned 200 but ingested no events.' };
      }
      case 400:
        // Amplitude returns 400 both for an invalid key and for a rejected event.
        if (/api.?key/i.test(detail) || valueAt(json, 'missing_field') === 'api_key') {
          return { kind: 'pause', reason: 'Amplitude rejected the API key (HTTP 400). Replace it.' };
        }
        return classifyByStatus('Amplitude', response, {
          detail: [detail, invalidFields(json)].filter(Boolean).join(' '),
        });
      case 403:
        return { kind: 'drop', reason: "Amplitude's firewall blocked the event (HTTP 403)." };
      case 429: {
        const overDailyQuota = Object.keys(Object(valueAt(json, 'exceeded_daily_quota_users'))).length > 0;
        const seconds = overDailyQuota ? DAILY_QUOTA_SECONDS : THROTTLE_SECONDS;
        return retry('Amplitude is throttling events for this payer.', retryAfterSeconds(response, now) ?? seconds);
      }
      default:
        return classifyByStatus('Amplitude', response, { expected: [200], detail, now });
    }
  },
});

/** Amplitude computes revenue as `price` times `quantity` and ignores a `revenue` field alongside them. */
function revenueProperties(event: ConnectorEvent) {
  const price = revenueUsd(event);
  if (price === undefined || event.type !== 'payment.settled') return {};
  return { price, quantity: 1, productId: event.data.endpointId, revenueType: 'payment', currency: 'USD' };
}

function invalidFields(json: unknown): string {
  const fields = Object.keys(Object(valueAt(json, 'events_with_invalid_fields')));
  return fields.length === 0 ? '' : vendorText(`(${fields.join(', ')})`);
}
