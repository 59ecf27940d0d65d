import { z } from 'zod';
import { type BuildContext, type ConnectorEvent, defineConnector } from '../definition.ts';
import type { ConnectorRequest } from '../exchange.ts';
import { choiceField, secretField } from '../fields.ts';
import {
  alertDetails,
  alertFields,
  alertKey,
  alertLookBack,
  alertMemory,
  alertStep,
  alertSummary,
  supportsAlertEvent,
  testAlertKey,
  whyNotClose,
} from '../shared/alert.ts';
import {
  classifyByStatus,
  parseJson,
  reason,
  retry,
  retryAfterSeconds,
  valueAt,
  vendorText,
} from '../shared/classify.ts';
import { oneLine, shorten } from '../shared/plain-text.ts';

const ALERT_URLS = {
  us: 'https://api.opsgenie.com/v2/alerts',
  eu: 'https://api.eu.opsgenie.com/v2/alerts',
  // The successor of Opsgenie accepts the same body and header.
  jsm: 'https://api.atlassian.com/jsm/ops/integration/v2/alerts',
} as const;
type Region = keyof typeof ALERT_URLS;

const SHUTDOWN = {
  on: '2027-04-05',
  advice:
    'Opsgenie shuts down on April 5, 2027. Before then, create an API integration in Jira Service Management, and save its key with the service set to jsm.',
};

const MAX_MESSAGE_LENGTH = 130;
const MAX_ENTITY_LENGTH = 512;

const config = z.strictObject({
  apiKey: secretField({
    title: 'API key',
    description:
      'In Opsgenie: your team > Integrations > API. In Jira Service Management: Operations > your team > Integrations > API.',
    pattern: /^[A-Za-z0-9-]{20,128}$/,
    hint: 'Must be the key of an API integration: letters, digits, and - only.',
  }),
  region: choiceField(['us', 'eu', 'jsm'], {
    title: 'Service',
    description: 'us or eu for Opsgenie, jsm for Jira Service Management. If empty, all three are tried.',
    decidesAddress: true,
  }).optional(),
  ...alertFields('alert'),
});
type Config = z.infer<typeof config>;

/** https://docs.opsgenie.com/docs/alert-api */
export const opsgenie = defineConnector<Config>({
  type: 'opsgenie',
  title: 'Opsgenie',
  category: 'Monitoring',
  description:
    'Opens one alert per endpoint for failing settlements and upstreams. The next settled payment closes it. Opsgenie shuts down on April 5, 2027; Jira Service Management replaces it.',
  documentationUrl: 'https://support.atlassian.com/opsgenie/docs/create-a-default-api-integration/',
  config,
  shutdown: SHUTDOWN,
  supportsEvent: supportsAlertEvent,

  lookBack: alertLookBack,

  build([event], settings, context) {
    const [region] = regions(settings, context);
    return requestFor(event, settings, context, region);
  },

  classify(response, context) {
    const { config: settings, events, step, memory, history, connectorId, now } = context;
    const [event] = events;
    const [action, usedRegion] = step.split(':');
    const order = regions(settings, context);
    const region = (usedRegion as Region | undefined) ?? order[0];
    const closedAt = action === 'close' ? (history?.settledAt ?? now.toISOString()) : null;
    const remember = { ...(settings.region ? {} : { region }), ...alertMemory(event, memory, closedAt) };
    const { statusCode } = response;
    if (statusCode === 202) {
      if (!valueAt(parseJson(response.body), 'requestId')) return retry('Opsgenie returned 202 without a request ID.');
      if (event?.test && action !== 'test-close') {
        const request = close(testAlertKey(connectorId), settings, region);
        return { kind: 'next', request: { ...request, step: `test-close:${region}` } };
      }
      // The request to close the alert may have reached Opsgenie before this one opened it.
      if (event?.type === 'payment.failed' && !event.test && action !== 'close' && history?.settledAt) {
        const request = close(alertKey(event), settings, region);
        return { kind: 'next', request: { ...request, step: `close:${region}` } };
      }
      return { kind: 'delivered', note: 'Opsgenie accepted the request and is still processing it.', remember };
    }
    const isClose = action === 'close' || event?.type === 'payment.settled';
    if (statusCode === 404 && (event?.test ? action === 'test-close' : isClose)) {
      return { kind: 'delivered', note: 'The alert was already closed.', remember };
    }
    const detail = vendorText(valueAt(parseJson(response.body), 'message'), [settings.apiKey]);
    const isKeyRejected = statusCode === 401 || statusCode === 403 || (statusCode === 422 && /\bkey\b/i.test(detail));
    const nextRegion = after(region, order);
    if (isKeyRejected && event && nextRegion) {
      const request = requestFor(event, settings, context, nextRegion);
      // A key belongs to one region but doesn't show which one. The region that accepts it is remembered.
      if (!('skip' in request)) return { kind: 'next', request };
    }
    if (statusCode === 429) {
      const period = Number(response.headers['x-ratelimit-period-in-sec']) || undefined;
      return retry('Opsgenie is rate limiting requests.', retryAfterSeconds(response, now) ?? period);
    }
    if (statusCode === 422 && isKeyRejected) {
      return { kind: 'pause', reason: reason(`Opsgenie rejected the API key (HTTP 422): ${detail}`) };
    }
    return classifyByStatus('Opsgenie', response, { expected: [202], detail, now });
  },

  probe: {
    build: (settings) => probeRequest(settings, probeOrder(settings)[0]),
    classify({ statusCode }, settings, step) {
      const order = probeOrder(settings);
      const region = (step.split(':')[1] as Region | undefined) ?? order[0];
      if (statusCode === 200) {
        const warning = region === 'jsm' ? '' : ` ${SHUTDOWN.advice}`;
        return { ok: true, message: `The API key works (${region}).${warning}` };
      }
      const nextRegion = after(region, order);
      if (nextRegion) return { next: probeRequest(settings, nextRegion) };
      if (statusCode === 401 || statusCode === 403) {
        return {
          ok: false,
          message: "Opsgenie rejected the API key, or the key can't read alerts. Send a test event to find out.",
        };
      }
      return {
        ok: false,
        message: `Opsgenie couldn't check the API key (HTTP ${statusCode}). Send a test event instead.`,
      };
    },
  },
});

function requestFor(event: ConnectorEvent, settings: Config, context: BuildContext, region: Region) {
  if (event.test) {
    const alert = { alias: testAlertKey(context.connectorId), priority: 'P5', tags: ['tollgate', 'test'] };
    return create(event, alert, settings, context, region);
  }
  switch (event.type) {
    case 'payment.failed': {
      const step = alertStep(event, settings, context);
      if (step === 'close') return { ...close(alertKey(event), settings, region), step: `close:${region}` };
      if ('skip' in step) return step;
      const { stage, endpointPath } = event.data;
      const entity = shorten(oneLine(endpointPath), MAX_ENTITY_LENGTH);
      const alert = {
        alias: alertKey(event),
        priority: 'P3',
        entity,
        tags: ['tollgate', event.type, stage],
      };
      return { ...create(event, alert, settings, context, region), announce: step.open };
    }
    case 'payment.settled': {
      const skip = whyNotClose(event, context.memory);
      return skip ? { skip } : close(alertKey(event), settings, region);
    }
    default:
      return { skip: `${event.type} events aren't sent to Opsgenie.` };
  }
}

function create(event: ConnectorEvent, alert: object, settings: Config, context: BuildContext, region: Region) {
  const details = alertDetails(event, context);
  const description = Object.entries(details).map(([label, value]) => `${label}: ${withoutMarkup(value)}`);
  if (context.consoleUrl) description.push(`Open in the console: ${context.consoleUrl}`);
  const body = {
    message: alertSummary(event, context, MAX_MESSAGE_LENGTH),
    ...alert,
    description: description.join('\n'),
    source: 'tollgate',
    details,
  };
  return post(ALERT_URLS[region], body, settings, `send:${region}`);
}

function close(alias: string, settings: Config, region: Region) {
  const url = `${ALERT_URLS[region]}/${encodeURIComponent(alias)}/close?identifierType=alias`;
  return post(
    url,
    { source: 'tollgate', note: 'Payments at this endpoint are settling again.' },
    settings,
    `send:${region}`,
  );
}

function post(url: string, body: object, { apiKey }: Config, step: string): ConnectorRequest {
  const headers = { 'content-type': 'application/json', authorization: `GenieKey ${apiKey}` };
  return { method: 'POST', url, headers, body: JSON.stringify(body), step };
}

function probeRequest({ apiKey }: Config, region: Region): ConnectorRequest {
  return {
    method: 'GET',
    url: `${ALERT_URLS[region]}?limit=1`,
    headers: { authorization: `GenieKey ${apiKey}` },
    step: `probe:${region}`,
  };
}

/** The regions to call, in order, until one accepts the key. Once Opsgenie has shut down, its successor comes first. */
function regions({ region }: Config, { memory, now }: Pick<BuildContext, 'memory' | 'now'>): [Region, ...Region[]] {
  if (region) return [region];
  const isShutDown = now.toISOString() >= SHUTDOWN.on;
  const [first, ...others]: [Region, ...Region[]] = isShutDown ? ['jsm', 'us', 'eu'] : ['us', 'eu', 'jsm'];
  const known = others.find((other) => other === memory.region && !isShutDown);
  return known ? [known, first, ...others.filter((other) => other !== known)] : [first, ...others];
}

/** The region that comes after this one. Undefined if this is the last one or isn't in the list. */
const after = (region: Region, order: readonly Region[]): Region | undefined =>
  order.includes(region) ? order[order.indexOf(region) + 1] : undefined;

/** A probe doesn't know the date, so it starts with the region that will outlast the others. */
const probeOrder = ({ region }: Config): [Region, ...Region[]] => (region ? [region] : ['jsm', 'us', 'eu']);

/** Opsgenie displays the description as HTML in some places. */
function withoutMarkup(text: string): string {
  return text.replaceAll('<', '‹').replaceAll('>', '›');
}
