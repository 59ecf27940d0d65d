import { describe, expect, test } from 'vitest';
import type { Outcome } from '../../../src/connectors/definition.ts';
import type { ConnectorRequest } from '../../../src/connectors/exchange.ts';
import { opsgenie } from '../../../src/connectors/types/opsgenie.ts';
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

const config = { apiKey: 'eb243592-faa2-4ba2-a551q-1afdf565c889' };
const endpointId = 'ep_01jc9x2v5qe3w8k4m6n7p9r0st';
const alias = `tollgate:${endpointId}:payment_failed`;
const openKey = `open:${endpointId}`;
const accepted = vendorResponse(202, {
  result: 'Request will be processed',
  took: 0.3,
  requestId: '43a29c5c-3dbf-4fa4',
});
const failed = sampleEvent('payment.failed');

function nextOf(outcome: Outcome): ConnectorRequest {
  if (outcome.kind !== 'next') throw new Error(`Not next but ${JSON.stringify(outcome)}`);
  return outcome.request;
}

describe('an Opsgenie request', () => {
  test('opens one alert per endpoint for failed payments', () => {
    const request = requestOf(opsgenie.build([failed], config, sampleContext()));
    expect(request).toMatchObject({
      method: 'POST',
      url: 'https://api.opsgenie.com/v2/alerts',
      headers: { 'content-type': 'application/json', authorization: `GenieKey ${config.apiKey}` },
    });
    expect(JSON.parse(request.body ?? '')).toEqual({
      message: 'Payment failed: insufficient funds (/weather)',
      alias,
      priority: 'P3',
      entity: '/weather',
      tags: ['tollgate', 'payment.failed', 'settle'],
      description: expect.stringContaining('Amount: 0.01 USDC\nEndpoint: GET /weather\n'),
      source: 'tollgate',
      details: expect.objectContaining({ Amount: '0.01 USDC', Event: failed.id }),
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
    const built = opsgenie.build([sampleEvent('payment.failed', data)], config, sampleContext());
    const skipped = 'skip' in built ? built.skip : '';
    expect(skipped || 'opens an alert').toContain(expected);
  });

  test('counts upstream failures that happen within a few minutes and after the last alert was closed', () => {
    const event = sampleEvent('payment.failed', { stage: 'upstream', reason: 'upstream_timeout' });
    const at = (seconds: number) => new Date(Date.parse(EVENT_TIME) + seconds * 1000).toISOString();
    const opens = (seconds: number[], memory = {}, settings = {}) => {
      const history = { upstreamFaults: seconds.map(at), settledAt: null };
      return !('skip' in opsgenie.build([event], { ...config, ...settings }, sampleContext({ history, memory })));
    };
    expect(opens([0, -60, -120, -180, -240])).toBe(true);
    expect(opens([0, 60, 120, -60, -120])).toBe(true);
    expect(opens([0, -60, -120, -180, -301])).toBe(false);
    expect(opens([0, 160, 290, -160, -290])).toBe(false);
    expect(opens([0, -60, -120, -180, -240], { [`closed:${endpointId}`]: at(-240) })).toBe(false);
    expect(opens([0], { [openKey]: at(-60) })).toBe(true);
    expect(opens([0, -3000], {}, { upstreamFailureCount: '2', upstreamFailureMinutes: '60' })).toBe(true);
  });

  test('closes the alert by the same alias once a payment settles', () => {
    const context = sampleContext({ memory: { [openKey]: '2026-01-02T03:00:00.000Z' } });
    const request = requestOf(opsgenie.build([sampleEvent('payment.settled')], config, context));
    const encoded = `tollgate%3A${endpointId}%3Apayment_failed`;
    expect(request.url).toBe(`https://api.opsgenie.com/v2/alerts/${encoded}/close?identifierType=alias`);
    expect(JSON.parse(request.body ?? '')).toEqual({
      source: 'tollgate',
      note: 'Payments at this endpoint are settling again.',
    });
  });

  test("doesn't close alerts that it didn't open, or alerts for failures after the payment", () => {
    const built = (memory: Record<string, string>) =>
      opsgenie.build([sampleEvent('payment.settled')], config, sampleContext({ memory }));
    expect(built({})).toEqual({ skip: 'No alert is open for this endpoint.' });
    expect(built({ [openKey]: '' })).toEqual({ skip: 'No alert is open for this endpoint.' });
    expect(built({ [openKey]: '2026-01-02T03:04:06.000Z' })).toEqual({ skip: expect.stringContaining('before') });
  });

  test('closes an alert that may have been opened by an attempt that was cut off, once a payment has settled', () => {
    const history = { upstreamFaults: [], settledAt: '2026-01-02T03:05:00.000Z' };
    const built = (attempt: object) => opsgenie.build([failed], config, sampleContext({ history, ...attempt }));
    expect(built({})).toEqual({ skip: 'No alert was opened: a later payment at this endpoint settled.' });
    expect(built({ previousAttemptAmbiguous: true })).toMatchObject({ url: expect.stringContaining('/close?') });
    expect(built({ attemptNumber: 2 })).toMatchObject({ url: expect.stringContaining('/close?') });
  });

  test('sends only failures and settlements', () => {
    const supported = EVENT_TYPES.filter((eventType) => opsgenie.supportsEvent(eventType, new Set(EVENT_TYPES)));
    expect(supported).toEqual(['payment.settled', 'payment.failed']);
  });

  test.each([
    ['us', {}, 'api.opsgenie.com/v2/alerts'],
    ['eu', {}, 'api.eu.opsgenie.com/v2/alerts'],
    ['jsm', {}, 'api.atlassian.com/jsm/ops/integration/v2/alerts'],
    [undefined, {}, 'api.opsgenie.com/v2/alerts'],
    [undefined, { region: 'eu' }, 'api.eu.opsgenie.com/v2/alerts'],
    ['us', { region: 'eu' }, 'api.opsgenie.com/v2/alerts'],
  ] as const)('in the region %s with the memory %j goes to %s', (region, memory, address) => {
    const settings = region ? { ...config, region } : config;
    expect(requestOf(opsgenie.build([failed], settings, sampleContext({ memory }))).url).toBe(`https://${address}`);
  });

  test('sends the same bytes on a retry', () => {
    const later = sampleContext({ attemptNumber: 4, now: new Date('2026-01-05') });
    expect(opsgenie.build([failed], config, later)).toEqual(opsgenie.build([failed], config, sampleContext()));
  });

  test.each(HOSTILE_TEXTS)('keeps %j without markup', (text) => {
    const data = { endpointPath: text, message: text, reason: text, method: text };
    const body = builtJson(opsgenie, config, sampleEvent('payment.failed', data));
    expect(body.description).not.toMatch(/[<>]/);
    expect(body.description.split('\n')).toHaveLength(Object.keys(body.details).length);
    for (const value of [body.message, body.entity, ...Object.values(body.details)]) {
      expect(value).toEqual(expect.any(String));
      expect(value).not.toMatch(/[\p{Cc}\p{Cs}\u202E]/u);
    }
  });
});

describe('an Opsgenie test event', () => {
  test('is a lowest-priority alert that is closed immediately, in the region that accepted it', () => {
    const event = testEvent('payment.failed');
    const first = requestOf(opsgenie.build([event], config, sampleContext()));
    expect(JSON.parse(first.body ?? '')).toMatchObject({
      message: expect.stringMatching(/^\[Test\] /),
      alias: `tollgate:test:${CONNECTOR_ID}`,
      priority: 'P5',
      tags: ['tollgate', 'test'],
    });
    const step = (request: ConnectorRequest) => classifyContext(config, event, { step: request.step ?? '' });
    const second = nextOf(opsgenie.classify(vendorResponse(401), step(first)));
    expect(second.url).toBe('https://api.eu.opsgenie.com/v2/alerts');
    expect(second.body).toBe(first.body);
    const third = nextOf(opsgenie.classify(accepted, step(second)));
    const encoded = `tollgate%3Atest%3A${CONNECTOR_ID}`;
    expect(third.url).toBe(`https://api.eu.opsgenie.com/v2/alerts/${encoded}/close?identifierType=alias`);
    expect(opsgenie.classify(accepted, step(third))).toMatchObject({ kind: 'delivered', remember: { region: 'eu' } });
  });

  test("isn't remembered as an open alert, even if its event type opens or closes one", () => {
    const event = testEvent('payment.settled');
    const request = requestOf(opsgenie.build([event], { ...config, region: 'us' }, sampleContext()));
    const settings = { ...config, region: 'us' as const };
    const closing = nextOf(opsgenie.classify(accepted, classifyContext(settings, event, { step: request.step ?? '' })));
    const last = classifyContext(settings, event, { step: closing.step ?? '' });
    expect(opsgenie.classify(accepted, last)).toHaveProperty('remember', {});
    expect(opsgenie.classify(vendorResponse(404), last).kind).toBe('delivered');
  });
});

describe('reading Opsgenie responses', () => {
  const settings = { ...config, region: 'us' as const };
  const context = classifyContext(settings, failed, { step: 'send:us' });
  test.each([
    ['a queued alert', accepted, 'delivered'],
    ['202 without a request ID', vendorResponse(202, 'ok'), 'retry'],
    ['200', vendorResponse(200, {}), 'drop'],
    ['400', vendorResponse(400, { message: 'Body is not processable' }), 'drop'],
    ['401', vendorResponse(401, { message: 'Could not authenticate' }), 'pause'],
    ['403', vendorResponse(403, { message: 'You are not authorized' }), 'pause'],
    ['404', vendorResponse(404), 'disable'],
    ['a rejected field', vendorResponse(422, { message: 'Request body is not processable.' }), 'drop'],
    ['a malformed key, which causes a 422', vendorResponse(422, { message: 'Key format is not valid!' }), 'pause'],
    ['429', vendorResponse(429), 'retry'],
    ['503', vendorResponse(503), 'retry'],
    ['a redirect', vendorResponse(302), 'drop'],
  ])('classifies %s', (_title, response, kind) => {
    expect(opsgenie.classify(response, context).kind).toBe(kind);
  });

  test('tries the other regions if a key is rejected, and remembers the region that accepts it', () => {
    const first = classifyContext(config, failed, { step: 'send:us' });
    const request = nextOf(opsgenie.classify(vendorResponse(401), first));
    expect(request.url).toBe('https://api.eu.opsgenie.com/v2/alerts');
    const second = classifyContext(config, failed, { step: request.step ?? '' });
    expect(opsgenie.classify(accepted, second)).toMatchObject({ remember: { region: 'eu', [openKey]: EVENT_TIME } });
    const last = nextOf(opsgenie.classify(vendorResponse(401), second));
    expect(last.url).toBe('https://api.atlassian.com/jsm/ops/integration/v2/alerts');
    const third = classifyContext(config, failed, { step: last.step ?? '' });
    expect(opsgenie.classify(accepted, third)).toMatchObject({ remember: { region: 'jsm' } });
    expect(opsgenie.classify(vendorResponse(401), third).kind).toBe('pause');
  });

  test('tries the next region if a key has the wrong format for a region', () => {
    const malformed = vendorResponse(422, { message: 'Key format is not valid!' });
    const first = classifyContext(config, failed, { step: 'send:us' });
    expect(nextOf(opsgenie.classify(malformed, first)).url).toBe('https://api.eu.opsgenie.com/v2/alerts');
  });

  test.each([
    ['2027-04-04T23:59:59Z', 'https://api.opsgenie.com/v2/alerts'],
    ['2027-04-05T00:00:00Z', 'https://api.atlassian.com/jsm/ops/integration/v2/alerts'],
  ])('starts with the API that works at the time %s', (now, url) => {
    const memory = { region: 'us' };
    expect(requestOf(opsgenie.build([failed], config, sampleContext({ now: new Date(now), memory }))).url).toBe(url);
  });

  test('tries the first region again if the key was replaced', () => {
    const memory = { region: 'eu' };
    const first = classifyContext(config, failed, { step: 'send:eu', memory });
    const request = nextOf(opsgenie.classify(vendorResponse(403), first));
    expect(request.url).toBe('https://api.opsgenie.com/v2/alerts');
    const second = classifyContext(config, failed, { step: request.step ?? '', memory });
    expect(opsgenie.classify(accepted, second)).toMatchObject({ remember: { region: 'us' } });
  });

  test('remembers the newest failure of an open alert, and forgets a closed alert', () => {
    expect(opsgenie.classify(accepted, context)).toMatchObject({ remember: { [openKey]: EVENT_TIME } });
    const memory = { [openKey]: '2026-01-02T04:00:00.000Z' };
    expect(opsgenie.classify(accepted, { ...context, memory })).toMatchObject({ remember: memory });
    const settled = classifyContext(settings, sampleEvent('payment.settled'), { step: 'send:us', memory });
    expect(opsgenie.classify(accepted, settled)).toMatchObject({ remember: { [openKey]: '' } });
  });

  test('treats a missing alert as closed', () => {
    const settled = classifyContext(settings, sampleEvent('payment.settled'), { step: 'send:us' });
    expect(opsgenie.classify(vendorResponse(404), settled)).toMatchObject({
      kind: 'delivered',
      remember: { [openKey]: '' },
    });
  });

  test('waits until the rate limit resets', () => {
    const throttled = { 'x-ratelimit-state': 'THROTTLED', 'x-ratelimit-period-in-sec': '45' };
    expect(opsgenie.classify(vendorResponse(429, '', throttled), context)).toMatchObject({ afterSeconds: 45 });
    expect(opsgenie.classify(vendorResponse(429, '', { ...throttled, 'retry-after': '5' }), context)).toMatchObject({
      afterSeconds: 5,
    });
    expect(opsgenie.classify(vendorResponse(429), context)).not.toHaveProperty('afterSeconds');
  });

  test('never reveals the key', () => {
    for (const statusCode of [400, 401, 422, 500]) {
      const outcome = opsgenie.classify(
        vendorResponse(statusCode, { message: `Key ${config.apiKey} is bad` }),
        context,
      );
      expect(JSON.stringify(outcome)).not.toContain(config.apiKey);
    }
  });
});

describe('the Opsgenie config', () => {
  test.each([
    [config, true],
    [{ ...config, region: 'jsm' }, true],
    [{ ...config, region: 'ap' }, false],
    [{ apiKey: 'short' }, false],
    [{ apiKey: `GenieKey ${config.apiKey}` }, false],
    [{ apiKey: '' }, false],
    [{ ...config, url: 'https://evil.example' }, false],
    [{}, false],
  ])('accepts %j: %s', (value, isAccepted) => {
    expect(accepts(opsgenie, value)).toBe(isAccepted);
  });
});

describe('the Opsgenie probe', () => {
  test('lists one alert, tries the other regions if the first one rejects the key, and warns of the shutdown', () => {
    const first = opsgenie.probe?.build(config);
    expect(first).toMatchObject({
      method: 'GET',
      url: 'https://api.atlassian.com/jsm/ops/integration/v2/alerts?limit=1',
      headers: { authorization: `GenieKey ${config.apiKey}` },
    });
    const outcome = opsgenie.probe?.classify(vendorResponse(401), config, first?.step ?? '');
    expect(outcome).toMatchObject({ next: { url: 'https://api.opsgenie.com/v2/alerts?limit=1', step: 'probe:us' } });
    expect(opsgenie.probe?.classify(vendorResponse(200), config, 'probe:us')).toEqual({
      ok: true,
      message: `The API key works (us). ${opsgenie.shutdown?.advice}`,
    });
    expect(opsgenie.probe?.classify(vendorResponse(200), config, 'probe:jsm')).toEqual({
      ok: true,
      message: 'The API key works (jsm).',
    });
    expect(opsgenie.probe?.classify(vendorResponse(401), config, 'probe:us')).toMatchObject({
      next: { url: 'https://api.eu.opsgenie.com/v2/alerts?limit=1' },
    });
    expect(opsgenie.probe?.classify(vendorResponse(403), config, 'probe:eu')).toMatchObject({ ok: false });
  });

  test('includes the date when Opsgenie shuts down, and what to do before then', () => {
    expect(opsgenie.shutdown).toEqual({ on: '2027-04-05', advice: expect.stringContaining('Jira Service Management') });
  });

  test("doesn't try another region if one is configured", () => {
    const settings = { ...config, region: 'us' as const };
    expect(opsgenie.probe?.classify(vendorResponse(401), settings, 'probe:us')).toMatchObject({ ok: false });
  });

  test("reports that it couldn't check the key", () => {
    expect(opsgenie.probe?.classify(vendorResponse(404), { ...config, region: 'jsm' }, 'probe:jsm')).toEqual({
      ok: false,
      message: expect.stringContaining("couldn't check"),
    });
  });
});
