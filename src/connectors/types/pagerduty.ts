import { z } from 'zod';
import type { EventType } from '../../events/types.ts';
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

const HOSTS = { us: 'events.pagerduty.com', eu: 'events.eu.pagerduty.com' } as const;
const CHANGES: ReadonlySet<EventType> = new Set(['endpoint.created', 'endpoint.pricing_changed']);
const MAX_SUMMARY_LENGTH = 1024;
const MAX_SOURCE_LENGTH = 255;
/** The step that resolves a failed payment's alert, because another payment has settled since then. */
const CLOSE = 'close';

const config = z.strictObject({
  routingKey: secretField({
    title: 'Integration key',
    description: 'In PagerDuty: your service > Integrations > Events API V2 > Integration Key.',
    pattern: /^[A-Za-z0-9]{32}$/,
    hint: 'Must be 32 letters and digits.',
  }),
  region: choiceField(['us', 'eu'], {
    title: 'Service region',
    description: "us (default), or eu if your PagerDuty account's address ends in eu.pagerduty.com.",
    decidesAddress: true,
  }).optional(),
  ...alertFields('alert'),
});
type Config = z.infer<typeof config>;

/** https://developer.pagerduty.com/docs/events-api-v2-overview */
export const pagerduty = defineConnector<Config>({
  type: 'pagerduty',
  title: 'PagerDuty',
  category: 'Monitoring',
  description:
    'Opens one alert per endpoint for failing settlements and upstreams. The next settled payment resolves it. New endpoints and prices are sent as change events.',
  documentationUrl: 'https://support.pagerduty.com/main/docs/services-and-integrations',
  config,
  supportsEvent: (eventType, selected) => CHANGES.has(eventType) || supportsAlertEvent(eventType, selected),
  // The limit for an integration key.
  vendorLimit: {
    count: 120,
    perSeconds: 60,
    burst: 10,
    documentationUrl: 'https://developer.pagerduty.com/docs/events-api-v2-overview',
  },

  lookBack: alertLookBack,

  build([event], settings, context) {
    if (event.test) return testRequest(event, settings, context);
    switch (event.type) {
      case 'payment.failed': {
        const step = alertStep(event, settings, context);
        if (step === 'close') return { ...resolve(alertKey(event), settings), step: CLOSE };
        return 'skip' in step ? step : { ...trigger(event, settings, context), announce: step.open };
      }
      case 'payment.settled': {
        const skip = whyNotClose(event, context.memory);
        return skip ? { skip } : resolve(alertKey(event), settings);
      }
      case 'endpoint.created':
      case 'endpoint.pricing_changed':
        if (isRulesetKey(settings)) return { skip: "Integration keys for event rules don't accept change events." };
        return change(event, settings, context);
      default:
        return { skip: `${event.type} events aren't sent to PagerDuty.` };
    }
  },

  classify(response, { config: settings, events, step, memory, history, connectorId, attemptNumber, now }) {
    const [event] = events;
    const json = parseJson(response.body);
    if (response.statusCode === 202) {
      if (valueAt(json, 'status') !== 'success') return retry('PagerDuty returned 202 without confirming the event.');
      if (step === 'test-trigger') {
        return { kind: 'next', request: { ...resolve(testAlertKey(connectorId), settings), step: 'test-resolve' } };
      }
      // The request to resolve the alert may have reached PagerDuty before this one opened it.
      if (event?.type === 'payment.failed' && !event.test && step !== CLOSE && history?.settledAt) {
        return { kind: 'next', request: { ...resolve(alertKey(event), settings), step: CLOSE } };
      }
      const closedAt = step === CLOSE ? (history?.settledAt ?? now.toISOString()) : null;
      const note = "PagerDuty accepted the event. The service's rules may still suppress it.";
      return { kind: 'delivered', note, remember: alertMemory(event, memory, closedAt) };
    }
    if (response.statusCode === 429) {
      // PagerDuty doesn't document `Retry-After`. It limits calls per minute and asks clients to back off for several
      // minutes.
      const seconds = attemptNumber <= 3 ? 30 : 300;
      return retry('PagerDuty is rate limiting requests.', retryAfterSeconds(response, now) ?? seconds);
    }
    const problem = valueAt(json, 'errors', 0) ?? valueAt(json, 'message');
    const detail = vendorText(problem, [settings.routingKey]);
    if (response.statusCode === 400 && /routing.?key/i.test(detail)) {
      return { kind: 'pause', reason: reason(`PagerDuty rejected the integration key: ${detail}`) };
    }
    return classifyByStatus('PagerDuty', response, { expected: [202], detail, now });
  },
});

function trigger(event: ConnectorEvent & { type: 'payment.failed' }, settings: Config, context: BuildContext) {
  return post('/v2/enqueue', settings, {
    event_action: 'trigger',
    dedup_key: alertKey(event),
    payload: {
      summary: alertSummary(event, context, MAX_SUMMARY_LENGTH),
      source: sourceOf(event.data.endpointPath),
      severity: 'error',
      timestamp: event.timestamp,
      component: event.data.endpointId,
      class: event.type,
      custom_details: alertDetails(event, context),
    },
    ...links(context),
  });
}

function resolve(dedupKey: string, settings: Config) {
  return post('/v2/enqueue', settings, { event_action: 'resolve', dedup_key: dedupKey });
}

function change(event: ConnectorEvent, settings: Config, context: BuildContext) {
  return post('/v2/change/enqueue', settings, {
    payload: {
      summary: alertSummary(event, context, MAX_SUMMARY_LENGTH),
      source: sourceOf(context.projectName),
      timestamp: event.timestamp,
      custom_details: alertDetails(event, context),
    },
    ...links(context),
  });
}

/**
 * A test doesn't page anyone. It sends a change event or, if the key doesn't accept those, an `info` alert that it
 * resolves immediately.
 */
function testRequest(event: ConnectorEvent, settings: Config, context: BuildContext): ConnectorRequest {
  if (!isRulesetKey(settings)) return change(event, settings, context);
  const request = post('/v2/enqueue', settings, {
    event_action: 'trigger',
    dedup_key: testAlertKey(context.connectorId),
    payload: {
      summary: alertSummary(event, context, MAX_SUMMARY_LENGTH),
      source: 'tollgate',
      severity: 'info',
      timestamp: event.timestamp,
      class: 'connector.test',
      custom_details: alertDetails(event, context),
    },
  });
  return { ...request, step: 'test-trigger' };
}

/** PagerDuty requires a source, but the name may have no visible characters. */
function sourceOf(name: string): string {
  return shorten(oneLine(name), MAX_SOURCE_LENGTH) || 'tollgate';
}

function post(path: string, { routingKey, region = 'us' }: Config, body: object): ConnectorRequest {
  return {
    method: 'POST',
    url: `https://${HOSTS[region]}${path}`,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ routing_key: routingKey, ...body }),
  };
}

function links({ consoleUrl }: BuildContext) {
  return consoleUrl ? { links: [{ href: consoleUrl, text: 'Open in the console' }] } : {};
}

/** Keys of global rulesets start with R. All other keys are hexadecimal. */
function isRulesetKey({ routingKey }: Config): boolean {
  return routingKey.startsWith('R');
}
