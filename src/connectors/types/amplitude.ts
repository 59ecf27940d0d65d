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
// Amplitude cuts longer strings.
const MAX_TEXT_LENGTH = 1024;
// What its documentation asks for after a 429.
const THROTTLE_SECONDS = 30;
const DAILY_QUOTA_SECONDS = 60 * 60;

const config = z.strictObject({
  apiKey: secretField({
    title: 'API key',
    description: 'Amplitude: Settings, Organization settings, Projects, your project, API Key. Not the secret key.',
    pattern: /^[A-Za-z0-9]{16,64}$/,
    hint: 'Paste the API key of the project: letters and digits only.',
  }),
  region: choiceField(['us', 'eu'], {
    title: 'Region',
    description: 'Where the project keeps its data.',
    decidesAddress: true,
  }).optional(),
});

/** https://amplitude.com/docs/apis/analytics/http-v2 */
export const amplitude = defineConnector({
  type: 'amplitude',
  title: 'Amplitude',
  category: 'Analytics',
  description: 'Every event becomes an Amplitude event of the payer; settled payments carry the revenue.',
  documentationUrl: 'https://amplitude.com/docs/apis/authentication',
  config,
  carries: () => true,

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
            // Amplitude slows down a single busy user, so payments never share one.
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
        if (json === undefined) return retry('Amplitude answered without confirming the event.');
        return { kind: 'drop', reason: 'Amplitude answered 200 but took no event.' };
      }
      case 400:
        // A wrong key is a 400 here, as is an event that can never be taken.
        if (/api.?key/i.test(detail) || valueAt(json, 'missing_field') === 'api_key') {
          return { kind: 'pause', reason: 'Amplitude does not know the API key (HTTP 400). Replace it.' };
        }
        return classifyByStatus(response, { detail: [detail, invalidFields(json)].filter(Boolean).join(' ') });
      case 403:
        return { kind: 'drop', reason: "Amplitude's firewall blocked the event (HTTP 403)." };
      case 429: {
        const overDailyQuota = Object.keys(Object(valueAt(json, 'exceeded_daily_quota_users'))).length > 0;
        const seconds = overDailyQuota ? DAILY_QUOTA_SECONDS : THROTTLE_SECONDS;
        return retry(
          'Amplitude takes no more events of this payer just now.',
          retryAfterSeconds(response, now) ?? seconds,
        );
      }
      default:
        return classifyByStatus(response, { expected: [200], detail, now });
    }
  },
});

/** `price` times `quantity` is what Amplitude books; beside them a `revenue` field would be ignored. */
function revenueProperties(event: ConnectorEvent) {
  const price = revenueUsd(event);
  if (price === undefined || event.type !== 'payment.settled') return {};
  return { price, quantity: 1, productId: event.data.endpointId, revenueType: 'payment', currency: 'USD' };
}

function invalidFields(json: unknown): string {
  const fields = Object.keys(Object(valueAt(json, 'events_with_invalid_fields')));
  return fields.length === 0 ? '' : vendorText(`(${fields.join(', ')})`);
}
