import { z } from 'zod';
import { type ConnectorEvent, defineConnector } from '../definition.ts';
import type { ConnectorResponse } from '../exchange.ts';
import { choiceField, secretField } from '../fields.ts';
import { alertDetails, alertSummary } from '../shared/alert.ts';
import { classifyByStatus, parseJson, retry, retryAfterSeconds, valueAt, vendorText } from '../shared/classify.ts';
import { describeEvent, type Tone } from '../shared/message.ts';
import { shorten } from '../shared/plain-text.ts';

const SITES = [
  'datadoghq.com',
  'us3.datadoghq.com',
  'us5.datadoghq.com',
  'ap1.datadoghq.com',
  'ap2.datadoghq.com',
  'uk1.datadoghq.com',
  'datadoghq.eu',
  'ddog-gov.com',
  'us2.ddog-gov.com',
] as const;
const ALERT_TYPES: Record<Tone, string> = { success: 'success', danger: 'error', warning: 'warning', info: 'info' };
const MAX_TITLE_LENGTH = 200;
const MAX_TEXT_LENGTH = 4000;
const MAX_KEY_LENGTH = 100;
// Datadog rejects a `date_happened` that is more than 18 hours old. The extra hour allows for clock skew and transit
// time.
const MAX_AGE_MILLISECONDS = 17 * 60 * 60 * 1000;

const config = z.strictObject({
  apiKey: secretField({
    title: 'API key',
    description: 'In Datadog: Organization Settings > API Keys. Use an API key, not an application key.',
    pattern: /^[A-Za-z0-9_-]{16,128}$/,
    hint: 'Must be an API key: letters, digits, -, and _ only.',
  }),
  site: choiceField(SITES, {
    title: 'Site',
    description: 'Your Datadog site, as in the address of the Datadog app. Default: datadoghq.com.',
    decidesAddress: true,
  }).optional(),
});

/** https://docs.datadoghq.com/api/latest/events/#post-an-event */
export const datadog = defineConnector({
  type: 'datadog',
  title: 'Datadog',
  category: 'Monitoring',
  description: 'Posts every event to the Events Explorer, tagged by type, endpoint, and network.',
  documentationUrl: 'https://docs.datadoghq.com/account_management/api-app-keys/',
  config,
  supportsEvent: () => true,

  build([event], { apiKey, site = SITES[0] }, context) {
    const { tone, url } = describeEvent(event, context);
    const happenedAt = Date.parse(event.timestamp);
    const lines = [
      ...Object.entries(alertDetails(event, context)).map(([label, value]) => `- ${label}: ${literal(value)}`),
      `- Time: ${event.timestamp}`,
      ...(url ? [`- [Open in the console](${url})`] : []),
    ];
    return {
      method: 'POST',
      url: `https://api.${site}/api/v1/events`,
      headers: { 'content-type': 'application/json', 'dd-api-key': apiKey },
      body: JSON.stringify({
        title: shorten(unmentioned(alertSummary(event, context, MAX_TITLE_LENGTH)), MAX_TITLE_LENGTH),
        text: `%%% \n${shorten(lines.join('\n'), MAX_TEXT_LENGTH - 20)}\n %%%`,
        alert_type: ALERT_TYPES[tone],
        priority: 'normal',
        aggregation_key: aggregationKey(event).slice(0, MAX_KEY_LENGTH),
        tags: tags(event),
        source_type_name: 'tollgate',
        ...(context.now.getTime() - happenedAt < MAX_AGE_MILLISECONDS
          ? { date_happened: Math.floor(happenedAt / 1000) }
          : {}),
      }),
    };
  },

  classify(response, { config: { apiKey }, now }) {
    const json = parseJson(response.body);
    const detail = vendorText(valueAt(json, 'errors', 0), [apiKey]);
    if (response.statusCode === 403) {
      return {
        kind: 'pause',
        reason: 'Datadog rejected the API key (HTTP 403). Replace the key or choose the right site.',
      };
    }
    if (response.statusCode === 429) {
      return retry('Datadog is rate limiting requests.', retryAfterSeconds(response, now) ?? resetSeconds(response));
    }
    const isSuccess = response.statusCode === 200 || response.statusCode === 202;
    if (isSuccess && json === undefined) return retry('Datadog responded without confirming the event.');
    return classifyByStatus('Datadog', response, { expected: [200, 202], detail, now });
  },

  probe: {
    build: ({ apiKey, site = SITES[0] }) => ({
      method: 'GET',
      url: `https://api.${site}/api/v1/validate`,
      headers: { 'dd-api-key': apiKey },
    }),
    classify({ statusCode, body }, { site = SITES[0] }) {
      if (statusCode === 200 && valueAt(parseJson(body), 'valid') === true) {
        return { ok: true, message: `The API key is valid at ${site}.` };
      }
      if (statusCode === 200 || statusCode === 401 || statusCode === 403) {
        return { ok: false, message: `The API key isn't valid at ${site}. Check the key and the site.` };
      }
      return { ok: false, message: `Datadog couldn't check the API key (HTTP ${statusCode}). Try again later.` };
    },
  },
});

/**
 * Includes only tags with few distinct values, because Datadog charges by the number of values. That rules out wallets.
 */
function tags(event: ConnectorEvent): string[] {
  const { endpointId, network } = event.data as Readonly<Record<string, string | undefined>>;
  return [
    `event:${event.type}`,
    `project:${event.projectId}`,
    ...(endpointId ? [`endpoint:${endpointId}`] : []),
    ...(network && /^[\w:-]{1,100}$/.test(network) ? [`network:${network}`] : []),
    ...(event.test ? ['test:true'] : []),
  ];
}

/** Groups an endpoint's events. */
function aggregationKey(event: ConnectorEvent): string {
  if (event.test) return 'tollgate:test';
  return `tollgate:${'endpointId' in event.data ? event.data.endpointId : event.projectId}`;
}

/** A value as a code span, where the backtick is the only character that Datadog's Markdown interprets. */
function literal(value: string): string {
  return `\`${unmentioned(value).replaceAll('`', "'").replaceAll(/%{3,}/g, '%%')}\``;
}

/** Datadog notifies anyone mentioned with an @ anywhere in an event, so each @ is replaced with a lookalike. */
function unmentioned(text: string): string {
  return text.replaceAll('@', '＠');
}

function resetSeconds(response: ConnectorResponse): number | undefined {
  const reset = Number(response.headers['x-ratelimit-reset']);
  return reset > 0 ? reset : undefined;
}
