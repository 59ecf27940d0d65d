import { describe, expect, test } from 'vitest';
import { pagerduty } from '../../../src/connectors/types/pagerduty.ts';
import { EVENT_TYPES } from '../../../src/events/types.ts';
import {
  accepts,
  builtJson,
  CONNECTOR_ID,
  classifyContext,
  EVENT_TIME,
  HOSTILE_TEXTS,
  requestOf,
  sampleContext,
  sampleEvent,
  testEvent,
  vendorResponse,
} from '../support/samples.ts';

const config = { routingKey: '0123456789abcdef0123456789abcdef' };
const rulesetConfig = { routingKey: 'R0123456789ABCDEFGHIJKLMNOPQRSTU' };
const endpointId = 'ep_01jc9x2v5qe3w8k4m6n7p9r0st';
const dedupKey = `tollgate:${endpointId}:payment_failed`;
const openKey = `open:${endpointId}`;
const consoleUrl = 'https://console.example.com/events/evt_01jc9x2v5qe3w8k4m6n7p9r0st';
const accepted = vendorResponse(202, { status: 'success', message: 'Event processed', dedup_key: dedupKey });

describe('a PagerDuty request', () => {
  test('triggers one alert per endpoint for failed payments', () => {
    const context = sampleContext({ consoleUrl });
    const request = requestOf(pagerduty.build([sampleEvent('payment.failed')], config, context));
    expect(request).toMatchObject({
      method: 'POST',
      url: 'https://events.pagerduty.com/v2/enqueue',
      headers: { 'content-type': 'application/json' },
    });
    expect(JSON.parse(request.body ?? '')).toEqual({
      routing_key: config.routingKey,
      event_action: 'trigger',
      dedup_key: dedupKey,
      payload: {
        summary: 'Payment failed: insufficient funds (/weather)',
        source: '/weather',
        severity: 'error',
        timestamp: EVENT_TIME,
        component: endpointId,
        class: 'payment.failed',
        custom_details: expect.objectContaining({
          Amount: '0.01 USDC',
          Endpoint: 'GET /weather',
          Stage: 'settle',
          Payment: 'pay_01jc9x2v5qe3w8k4m6n7p9r0st',
          Event: 'evt_01jc9x2v5qe3w8k4m6n7p9r0st',
        }),
      },
      links: [{ href: consoleUrl, text: 'Open in the console' }],
    });
  });

  test.each([
    [{ stage: 'verify', reason: 'facilitator_unavailable' }, 'opens an alert'],
    [{ stage: 'verify', reason: 'insufficient_funds' }, 'the buyer caused this failure'],
    [{ stage: 'upstream', reason: 'upstream_error', upstreamStatusCode: 404 }, 'the buyer caused this failure'],
    [{ stage: 'upstream', reason: 'upstream_error', upstreamStatusCode: 500 }, '1 of 5 upstream failures'],
    [{ stage: 'upstream', reason: 'upstream_timeout' }, '1 of 5 upstream failures'],
    [{ stage: 'settle' }, 'opens an alert'],
  ] as const)('handles a failure with %j: %s', (data, expected) => {
    const built = pagerduty.build([sampleEvent('payment.failed', data)], config, sampleContext());
    const skipped = 'skip' in built ? built.skip : '';
    expect(skipped || 'opens an alert').toContain(expected);
  });

  test('counts upstream failures that happen within a few minutes and after the last alert was closed', () => {
    const event = sampleEvent('payment.failed', { stage: 'upstream', reason: 'upstream_timeout' });
    const at = (seconds: number) => new Date(Date.parse(EVENT_TIME) + seconds * 1000).toISOString();
    const opens = (seconds: number[], memory = {}, settings = {}) => {
      const history = { upstreamFaults: seconds.map(at), settledAt: null };
      return !('skip' in pagerduty.build([event], { ...config, ...settings }, sampleContext({ history, memory })));
    };
    expect(opens([0, -60, -120, -180, -240])).toBe(true);
    expect(opens([0, 60, 120, -60, -120])).toBe(true);
    expect(opens([0, -60, -120, -180, -301])).toBe(false);
    expect(opens([0, 160, 290, -160, -290])).toBe(false);
    expect(opens([0, -60, -120, -180, -240], { [`closed:${endpointId}`]: at(-240) })).toBe(false);
    expect(opens([0], { [openKey]: at(-60) })).toBe(true);
    expect(opens([0, -3000], {}, { upstreamFailureCount: '2', upstreamFailureMinutes: '60' })).toBe(true);
  });

  test('resolves the alert with the same key once a payment settles', () => {
    const context = sampleContext({ memory: { [openKey]: '2026-01-02T03:00:00.000Z' } });
    const request = requestOf(pagerduty.build([sampleEvent('payment.settled')], config, context));
    expect(request.url).toBe('https://events.pagerduty.com/v2/enqueue');
    expect(JSON.parse(request.body ?? '')).toEqual({
      routing_key: config.routingKey,
      event_action: 'resolve',
      dedup_key: dedupKey,
    });
  });

  test("doesn't resolve alerts that it didn't open, or alerts for failures after the payment", () => {
    const settled = sampleEvent('payment.settled');
    const built = (memory: Record<string, string>) => pagerduty.build([settled], config, sampleContext({ memory }));
    expect(built({})).toEqual({ skip: 'No alert is open for this endpoint.' });
    expect(built({ [openKey]: '' })).toEqual({ skip: 'No alert is open for this endpoint.' });
    expect(built({ 'open:ep_other': EVENT_TIME })).toEqual({ skip: 'No alert is open for this endpoint.' });
    expect(built({ [openKey]: '2026-01-02T03:04:06.000Z' })).toEqual({ skip: expect.stringContaining('before') });
  });

  test.each([
    ['endpoint.created', 'Endpoint created: /weather at 0.01 USD'],
    ['endpoint.pricing_changed', 'Price changed: /weather from 0.01 USD to 0.02 USD'],
  ] as const)('sends %s as a change event', (eventType, summary) => {
    const request = requestOf(pagerduty.build([sampleEvent(eventType)], config, sampleContext({ consoleUrl })));
    expect(request.url).toBe('https://events.pagerduty.com/v2/change/enqueue');
    expect(JSON.parse(request.body ?? '')).toEqual({
      routing_key: config.routingKey,
      payload: {
        summary,
        source: 'Weather API',
        timestamp: EVENT_TIME,
        custom_details: expect.objectContaining({ Path: '/weather' }),
      },
      links: [{ href: consoleUrl, text: 'Open in the console' }],
    });
  });

  test("skips change events if the key is for event rules, because such a key doesn't accept them", () => {
    const built = pagerduty.build([sampleEvent('endpoint.created')], rulesetConfig, sampleContext());
    expect(built).toEqual({ skip: expect.stringContaining("don't accept change events") });
  });

  test('sends only failures, settlements, and changes', () => {
    const supported = EVENT_TYPES.filter((eventType) => pagerduty.supportsEvent(eventType, new Set(EVENT_TYPES)));
    expect(supported).toEqual(['payment.settled', 'payment.failed', 'endpoint.created', 'endpoint.pricing_changed']);
  });

  test.each(['/v2/enqueue', '/v2/change/enqueue'])(
    'sends a request for %s to the European host if configured',
    (path) => {
      const event = sampleEvent(path === '/v2/enqueue' ? 'payment.failed' : 'endpoint.created');
      const request = requestOf(pagerduty.build([event], { ...config, region: 'eu' }, sampleContext()));
      expect(request.url).toBe(`https://events.eu.pagerduty.com${path}`);
    },
  );

  test('sends the same bytes on a retry', () => {
    const later = sampleContext({ attemptNumber: 4, now: new Date('2026-01-05') });
    const event = sampleEvent('payment.failed');
    expect(pagerduty.build([event], config, later)).toEqual(pagerduty.build([event], config, sampleContext()));
  });

  test.each(HOSTILE_TEXTS)('keeps %j on one line', (text) => {
    const data = { endpointPath: text, message: text, reason: text, method: text };
    const { payload } = builtJson(pagerduty, config, sampleEvent('payment.failed', data));
    for (const value of [payload.summary, payload.source, ...Object.values(payload.custom_details)]) {
      expect(value).not.toMatch(/[\p{Cc}\p{Cs}\u202E]/u);
    }
  });
});

describe('a PagerDuty test event', () => {
  test("is a change event for any event type, so it doesn't page anyone", () => {
    const request = requestOf(pagerduty.build([testEvent('payment.failed')], config, sampleContext()));
    expect(request.url).toBe('https://events.pagerduty.com/v2/change/enqueue');
    expect(JSON.parse(request.body ?? '').payload.summary).toMatch(/^\[Test\] /);
  });

  test("is an info alert that is resolved immediately if change events aren't accepted", () => {
    const context = sampleContext();
    const request = requestOf(pagerduty.build([testEvent('payment.failed')], rulesetConfig, context));
    const key = `tollgate:test:${CONNECTOR_ID}`;
    expect(JSON.parse(request.body ?? '')).toMatchObject({
      event_action: 'trigger',
      dedup_key: key,
      payload: { severity: 'info', summary: expect.stringMatching(/^\[Test\] /), class: 'connector.test' },
    });
    const step = request.step ?? '';
    const outcome = pagerduty.classify(accepted, classifyContext(rulesetConfig, testEvent('payment.failed'), { step }));
    if (outcome.kind !== 'next') throw new Error(outcome.kind);
    expect(JSON.parse(outcome.request.body ?? '')).toEqual({
      routing_key: rulesetConfig.routingKey,
      event_action: 'resolve',
      dedup_key: key,
    });
    const last = classifyContext(rulesetConfig, testEvent('payment.failed'), { step: outcome.request.step ?? '' });
    expect(pagerduty.classify(accepted, last).kind).toBe('delivered');
  });

  test("isn't remembered as an open alert", () => {
    const outcome = pagerduty.classify(accepted, classifyContext(config, testEvent('payment.failed')));
    expect(outcome).toEqual({ kind: 'delivered', note: expect.any(String), remember: {} });
  });
});

describe('reading PagerDuty responses', () => {
  const context = classifyContext(config, sampleEvent('payment.failed'));
  test.each([
    ['an accepted event', accepted, 'delivered'],
    ['202 without confirmation', vendorResponse(202, 'ok'), 'retry'],
    ['200', vendorResponse(200, { status: 'success' }), 'drop'],
    [
      'an invalid event',
      vendorResponse(400, { status: 'invalid event', errors: ["'payload.summary' is missing"] }),
      'drop',
    ],
    ['an unknown key', vendorResponse(400, { status: 'invalid event', errors: ['Invalid routing key'] }), 'pause'],
    ['a malformed key', vendorResponse(400, { errors: ["Length of 'routing_key' is incorrect"] }), 'pause'],
    ['401', vendorResponse(401), 'pause'],
    ['413', vendorResponse(413), 'drop'],
    ['429', vendorResponse(429), 'retry'],
    ['500', vendorResponse(500), 'retry'],
    ['a redirect', vendorResponse(302), 'drop'],
  ])('classifies %s', (_title, response, kind) => {
    expect(pagerduty.classify(response, context).kind).toBe(kind);
  });

  test('remembers the newest failure of an open alert, and forgets a resolved alert', () => {
    expect(pagerduty.classify(accepted, context)).toMatchObject({ remember: { [openKey]: EVENT_TIME } });
    const newer = '2026-01-02T04:00:00.000Z';
    const late = classifyContext(config, sampleEvent('payment.failed'), { memory: { [openKey]: newer } });
    expect(pagerduty.classify(accepted, late)).toMatchObject({ remember: { [openKey]: newer } });
    const settled = classifyContext(config, sampleEvent('payment.settled'), { memory: { [openKey]: EVENT_TIME } });
    expect(pagerduty.classify(accepted, settled)).toMatchObject({ remember: { [openKey]: '' } });
    const changed = classifyContext(config, sampleEvent('endpoint.created'));
    expect(pagerduty.classify(accepted, changed)).toHaveProperty('remember', {});
  });

  test('waits 30 seconds to several minutes after a 429, or as long as Retry-After says', () => {
    const afterSeconds = (attemptNumber: number, headers = {}) =>
      pagerduty.classify(vendorResponse(429, '', headers), { ...context, attemptNumber });
    expect(afterSeconds(1)).toMatchObject({ afterSeconds: 30 });
    expect(afterSeconds(4)).toMatchObject({ afterSeconds: 300 });
    expect(afterSeconds(4, { 'retry-after': '7' })).toMatchObject({ afterSeconds: 7 });
  });

  test("includes PagerDuty's error without revealing the key", () => {
    const response = vendorResponse(400, { errors: [`'payload.summary' is missing ${config.routingKey}`] });
    const outcome = pagerduty.classify(response, context);
    expect(outcome).toMatchObject({ reason: expect.stringContaining("'payload.summary' is missing") });
    expect(JSON.stringify(outcome)).not.toContain(config.routingKey);
  });
});

describe('the PagerDuty config', () => {
  test.each([
    [config, true],
    [rulesetConfig, true],
    [{ ...config, region: 'eu' }, true],
    [{ ...config, region: 'ap' }, false],
    [{ routingKey: config.routingKey.slice(1) }, false],
    [{ routingKey: `${config.routingKey}0` }, false],
    [{ routingKey: `${config.routingKey.slice(1)}-` }, false],
    [{ routingKey: '' }, false],
    [{ ...config, url: 'https://evil.example' }, false],
    [{}, false],
  ])('accepts %j: %s', (value, isAccepted) => {
    expect(accepts(pagerduty, value)).toBe(isAccepted);
  });
});

test('PagerDuty has no probe, because the integration key can only send events', () => {
  expect(pagerduty.probe).toBeUndefined();
});
