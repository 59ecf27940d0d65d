import { describe, expect, it } from 'vitest';
import { pagerduty } from '../../../src/connectors/types/pagerduty.ts';
import { EVENT_KINDS } from '../../../src/events/kinds.ts';
import {
  accepts,
  answer,
  builtJson,
  CONNECTOR_ID,
  classifyContext,
  EVENT_TIME,
  HOSTILE_TEXTS,
  requestOf,
  sampleContext,
  sampleEvent,
  testEvent,
} from '../support/samples.ts';

const config = { routingKey: '0123456789abcdef0123456789abcdef' };
const rulesetConfig = { routingKey: 'R0123456789ABCDEFGHIJKLMNOPQRSTU' };
const endpointId = 'ep_01jc9x2v5qe3w8k4m6n7p9r0st';
const dedupKey = `tollgate:${endpointId}:payment_failed`;
const openKey = `open:${endpointId}`;
const consoleUrl = 'https://console.example.com/events/evt_01jc9x2v5qe3w8k4m6n7p9r0st';
const accepted = answer(202, { status: 'success', message: 'Event processed', dedup_key: dedupKey });

describe('what is sent', () => {
  it('triggers one alert an endpoint for failed payments', () => {
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

  it.each([
    [{ stage: 'verify', reason: 'facilitator_unavailable' }, 'opens an alert'],
    [{ stage: 'verify', reason: 'insufficient_funds' }, 'the buyer caused this failure'],
    [{ stage: 'upstream', reason: 'upstream_error', upstreamStatusCode: 404 }, 'the buyer caused this failure'],
    [{ stage: 'upstream', reason: 'upstream_error', upstreamStatusCode: 500 }, '1 of 5 upstream failures'],
    [{ stage: 'upstream', reason: 'upstream_timeout' }, '1 of 5 upstream failures'],
    [{ stage: 'settle' }, 'opens an alert'],
  ] as const)('judges a failure of %j: %s', (data, expected) => {
    const built = pagerduty.build([sampleEvent('payment.failed', data)], config, sampleContext());
    const skipped = 'skip' in built ? built.skip : '';
    expect(skipped || 'opens an alert').toContain(expected);
  });

  it('counts upstream failures within minutes of each other that came after the last alert was closed', () => {
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

  it('resolves the alert with the same key once a payment settles', () => {
    const context = sampleContext({ memory: { [openKey]: '2026-01-02T03:00:00.000Z' } });
    const request = requestOf(pagerduty.build([sampleEvent('payment.settled')], config, context));
    expect(request.url).toBe('https://events.pagerduty.com/v2/enqueue');
    expect(JSON.parse(request.body ?? '')).toEqual({
      routing_key: config.routingKey,
      event_action: 'resolve',
      dedup_key: dedupKey,
    });
  });

  it('resolves nothing it did not open, nor what failed after the payment', () => {
    const settled = sampleEvent('payment.settled');
    const built = (memory: Record<string, string>) => pagerduty.build([settled], config, sampleContext({ memory }));
    expect(built({})).toEqual({ skip: 'No alert is open for this endpoint.' });
    expect(built({ [openKey]: '' })).toEqual({ skip: 'No alert is open for this endpoint.' });
    expect(built({ 'open:ep_other': EVENT_TIME })).toEqual({ skip: 'No alert is open for this endpoint.' });
    expect(built({ [openKey]: '2026-01-02T03:04:06.000Z' })).toEqual({ skip: expect.stringContaining('before') });
  });

  it.each([
    ['endpoint.created', 'Endpoint created: /weather at 0.01 USD'],
    ['endpoint.pricing_changed', 'Price changed: /weather from 0.01 USD to 0.02 USD'],
  ] as const)('records %s as a change', (kind, summary) => {
    const request = requestOf(pagerduty.build([sampleEvent(kind)], config, sampleContext({ consoleUrl })));
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

  it('skips changes with a key of event rules, which does not take them', () => {
    const built = pagerduty.build([sampleEvent('endpoint.created')], rulesetConfig, sampleContext());
    expect(built).toEqual({ skip: expect.stringContaining("don't accept change events") });
  });

  it('carries failures, settlements and changes only', () => {
    const carried = EVENT_KINDS.filter((kind) => pagerduty.carries(kind, new Set(EVENT_KINDS)));
    expect(carried).toEqual(['payment.settled', 'payment.failed', 'endpoint.created', 'endpoint.pricing_changed']);
  });

  it.each(['/v2/enqueue', '/v2/change/enqueue'])('goes to the European host for %s when told so', (path) => {
    const event = sampleEvent(path === '/v2/enqueue' ? 'payment.failed' : 'endpoint.created');
    const request = requestOf(pagerduty.build([event], { ...config, region: 'eu' }, sampleContext()));
    expect(request.url).toBe(`https://events.eu.pagerduty.com${path}`);
  });

  it('sends the same bytes on a retry', () => {
    const later = sampleContext({ attemptNumber: 4, now: new Date('2026-01-05') });
    const event = sampleEvent('payment.failed');
    expect(pagerduty.build([event], config, later)).toEqual(pagerduty.build([event], config, sampleContext()));
  });

  it.each(HOSTILE_TEXTS)('keeps %j on one line and within the limits', (text) => {
    const data = { endpointPath: text, message: text, reason: text, method: text };
    const { payload } = builtJson(pagerduty, config, sampleEvent('payment.failed', data));
    expect(payload.summary.length).toBeLessThanOrEqual(1024);
    expect(payload.source.length).toBeLessThanOrEqual(255);
    for (const value of [payload.summary, payload.source, ...Object.values(payload.custom_details)]) {
      expect(value).not.toMatch(/[\p{Cc}\p{Cs}\u202E]/u);
    }
  });
});

describe('a test event', () => {
  it('is a change, which pages nobody, whatever its kind', () => {
    const request = requestOf(pagerduty.build([testEvent('payment.failed')], config, sampleContext()));
    expect(request.url).toBe('https://events.pagerduty.com/v2/change/enqueue');
    expect(JSON.parse(request.body ?? '').payload.summary).toMatch(/^\[Test\] /);
  });

  it('is an info alert that is resolved at once where changes are not taken', () => {
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

  it('is not remembered as an open alert', () => {
    const outcome = pagerduty.classify(accepted, classifyContext(config, testEvent('payment.failed')));
    expect(outcome).toEqual({ kind: 'delivered', note: expect.any(String), remember: {} });
  });
});

describe('what an answer means', () => {
  const context = classifyContext(config, sampleEvent('payment.failed'));
  it.each([
    ['accepted', accepted, 'delivered'],
    ['202 that confirms nothing', answer(202, 'ok'), 'retry'],
    ['200', answer(200, { status: 'success' }), 'drop'],
    ['an invalid event', answer(400, { status: 'invalid event', errors: ["'payload.summary' is missing"] }), 'drop'],
    ['an unknown key', answer(400, { status: 'invalid event', errors: ['Invalid routing key'] }), 'pause'],
    ['a bad key', answer(400, { errors: ["Length of 'routing_key' is incorrect"] }), 'pause'],
    ['401', answer(401), 'pause'],
    ['413', answer(413), 'drop'],
    ['429', answer(429), 'retry'],
    ['500', answer(500), 'retry'],
    ['a redirect', answer(302), 'drop'],
  ])('%s', (_title, response, kind) => {
    expect(pagerduty.classify(response, context).kind).toBe(kind);
  });

  it('remembers what it opened by the newest failure, and forgets what it resolved', () => {
    expect(pagerduty.classify(accepted, context)).toMatchObject({ remember: { [openKey]: EVENT_TIME } });
    const newer = '2026-01-02T04:00:00.000Z';
    const late = classifyContext(config, sampleEvent('payment.failed'), { memory: { [openKey]: newer } });
    expect(pagerduty.classify(accepted, late)).toMatchObject({ remember: { [openKey]: newer } });
    const settled = classifyContext(config, sampleEvent('payment.settled'), { memory: { [openKey]: EVENT_TIME } });
    expect(pagerduty.classify(accepted, settled)).toMatchObject({ remember: { [openKey]: '' } });
    const changed = classifyContext(config, sampleEvent('endpoint.created'));
    expect(pagerduty.classify(accepted, changed)).toHaveProperty('remember', {});
  });

  it('backs off from half a minute to minutes, or as long as it is told', () => {
    const afterSeconds = (attemptNumber: number, headers = {}) =>
      pagerduty.classify(answer(429, '', headers), { ...context, attemptNumber });
    expect(afterSeconds(1)).toMatchObject({ afterSeconds: 30 });
    expect(afterSeconds(4)).toMatchObject({ afterSeconds: 300 });
    expect(afterSeconds(4, { 'retry-after': '7' })).toMatchObject({ afterSeconds: 7 });
  });

  it('says what was wrong with the event, without the key', () => {
    const response = answer(400, { errors: [`'payload.summary' is missing ${config.routingKey}`] });
    const outcome = pagerduty.classify(response, context);
    expect(outcome).toMatchObject({ reason: expect.stringContaining("'payload.summary' is missing") });
    expect(JSON.stringify(outcome)).not.toContain(config.routingKey);
  });
});

describe('the settings', () => {
  it.each([
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
  ])('%j is accepted: %s', (value, isAccepted) => {
    expect(accepts(pagerduty, value)).toBe(isAccepted);
  });
});

it('offers no probe: the integration key can do nothing but send events', () => {
  expect(pagerduty.probe).toBeUndefined();
});
