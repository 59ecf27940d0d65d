import { describe, expect, test } from 'vitest';
import { ga4 } from '../../../src/connectors/types/ga4.ts';
import { EVENT_TYPES, type EventType } from '../../../src/events/types.ts';
import {
  accepts,
  builtJson,
  classifyContext,
  EVENT_TIME,
  HOSTILE_TEXTS,
  requestOf,
  sampleContext,
  sampleEvent,
  testEvent,
  vendorResponse,
} from '../support/samples.ts';

const config = { measurementId: 'G-1A2B3C4D5E', apiSecret: 'x-YcqXVVQ6mRUUf5WmyV3g' };
const payer = '0x1f98431c8ad98523631ae4a59f267346ea31f984';
const NAMES: Record<EventType, string> = {
  'payment.verified': 'payment_verified',
  'payment.settled': 'purchase',
  'payment.failed': 'payment_failed',
  'customer.first_payment': 'customer_first_payment',
  'customer.milestone': 'customer_milestone',
  'endpoint.created': 'endpoint_created',
  'endpoint.pricing_changed': 'endpoint_pricing_changed',
  'revenue.daily_summary': 'revenue_daily_summary',
};

describe('a GA4 request', () => {
  test('sends a settled payment as a purchase', () => {
    const request = requestOf(ga4.build([sampleEvent('payment.settled')], config, sampleContext()));
    expect(request).toMatchObject({
      method: 'POST',
      url: `https://www.google-analytics.com/mp/collect?measurement_id=G-1A2B3C4D5E&api_secret=${config.apiSecret}`,
      headers: { 'content-type': 'application/json' },
    });
    expect(JSON.parse(request.body ?? '')).toEqual({
      client_id: expect.stringMatching(/^\d+\.\d+$/),
      user_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      timestamp_micros: 1767323045678000,
      events: [
        {
          name: 'purchase',
          params: {
            session_id: '1767312000',
            engagement_time_msec: 1,
            event_id: 'evt_01jc9x2v5qe3w8k4m6n7p9r0st',
            event_kind: 'payment.settled',
            project_id: 'proj_01jc9x2v5qe3w8k4m6n7p9r0st',
            payment_id: 'pay_01jc9x2v5qe3w8k4m6n7p9r0st',
            endpoint_id: 'ep_01jc9x2v5qe3w8k4m6n7p9r0st',
            endpoint_path: '/weather',
            method: 'GET',
            customer_id: 'cus_01jc9x2v5qe3w8k4m6n7p9r0st',
            asset: 'USDC',
            network: 'eip155:84532',
            transaction_hash: `0x${'5e'.repeat(32)}`,
            transaction_id: 'pay_01jc9x2v5qe3w8k4m6n7p9r0st',
            value: 0.01,
            currency: 'USD',
            items: [{ item_id: 'ep_01jc9x2v5qe3w8k4m6n7p9r0st', item_name: '/weather', price: 0.01, quantity: 1 }],
          },
        },
      ],
    });
  });

  test.each(EVENT_TYPES.filter((eventType) => eventType !== 'payment.settled'))(
    'sends %s under a valid name and without revenue',
    (eventType) => {
      const [event] = builtJson(ga4, config, sampleEvent(eventType)).events;
      expect(event.name).toBe(NAMES[eventType]);
      for (const name of ['value', 'currency', 'items', 'transaction_id'])
        expect(event.params).not.toHaveProperty(name);
    },
  );

  // https://developers.google.com/analytics/devguides/collection/protocol/ga4/reference
  test.each(EVENT_TYPES)('uses only names and values that Google allows in %s', (eventType) => {
    const [event] = builtJson(ga4, config, sampleEvent(eventType)).events;
    const reserved = /^(_|firebase_|ga_|google_|gtag\.)/;
    expect(event.name).toMatch(/^[A-Za-z]\w{0,39}$/);
    expect(event.name).not.toMatch(reserved);
    for (const [name, value] of Object.entries(event.params)) {
      expect(name).toMatch(/^[A-Za-z]\w{0,39}$/);
      expect(name).not.toMatch(reserved);
      if (name !== 'items') expect(['string', 'number', 'boolean']).toContain(typeof value);
    }
  });

  test('never sends a wallet, because Google forbids personal data', () => {
    for (const eventType of EVENT_TYPES) {
      const { body = '' } = requestOf(ga4.build([sampleEvent(eventType)], config, sampleContext()));
      expect(body.toLowerCase()).not.toContain(payer);
    }
  });

  test('identifies payers consistently', () => {
    const idOf = (event: Parameters<typeof builtJson>[2]) => builtJson(ga4, config, event).client_id;
    const settled = idOf(sampleEvent('payment.settled'));
    expect(idOf(sampleEvent('customer.milestone'))).toBe(settled);
    const other = sampleEvent('payment.settled', { payer: '0x0000000000000000000000000000000000000001' });
    expect(idOf(other)).not.toBe(settled);
    expect(idOf(sampleEvent('endpoint.created'))).not.toBe(settled);
  });

  test('sends every event type', () => {
    expect(EVENT_TYPES.every((eventType) => ga4.supportsEvent(eventType, new Set([eventType])))).toBe(true);
  });

  test('sends to the European host if configured', () => {
    const built = ga4.build([sampleEvent('payment.settled')], { ...config, region: 'eu' }, sampleContext());
    expect(new URL(requestOf(built).url).host).toBe('region1.google-analytics.com');
  });

  test('sends the same bytes on a retry, and nothing after 72 hours', () => {
    const event = sampleEvent('payment.settled');
    const builtAfter = (hours: number) =>
      ga4.build([event], config, sampleContext({ now: new Date(Date.parse(EVENT_TIME) + hours * 3_600_000) }));
    expect(builtAfter(71.9)).toEqual(builtAfter(0));
    expect(builtAfter(72.1)).toEqual({ skip: expect.stringContaining('72 hours') });
  });

  test('marks a test event and omits its revenue', () => {
    const [event] = builtJson(ga4, config, testEvent()).events;
    expect(event).toMatchObject({ name: 'connector_test', params: { test: true, debug_mode: 1 } });
    for (const name of ['value', 'currency', 'items', 'transaction_id']) expect(event.params).not.toHaveProperty(name);
  });

  test.each(HOSTILE_TEXTS)('sends %j as plain text', (text) => {
    const [event] = builtJson(ga4, config, sampleEvent('payment.settled', { endpointPath: text })).events;
    for (const value of [event.params.endpoint_path, event.params.items[0].item_name]) {
      expect(value).not.toMatch(/[\p{Cc}\p{Cs}\u202E]/u);
    }
  });
});

describe('reading GA4 responses', () => {
  const purchase = classifyContext(config, sampleEvent('payment.settled'));
  const other = classifyContext(config, sampleEvent('payment.failed'));
  test.each([
    ['204, which Google always returns', vendorResponse(204), 'delivered', 'delivered'],
    ['200', vendorResponse(200), 'delivered', 'delivered'],
    ['500, after which only purchases can be sent again', vendorResponse(500), 'retry', 'drop'],
    ['502', vendorResponse(502), 'retry', 'drop'],
    ['503, which rejected the event', vendorResponse(503), 'retry', 'retry'],
    ['429', vendorResponse(429), 'retry', 'retry'],
    ['408', vendorResponse(408), 'retry', 'retry'],
    ['400', vendorResponse(400), 'drop', 'drop'],
    ['403', vendorResponse(403), 'pause', 'pause'],
    ['413', vendorResponse(413), 'drop', 'drop'],
    ['a redirect', vendorResponse(302), 'drop', 'drop'],
  ])('classifies %s', (_title, response, forPurchase, forOther) => {
    expect(ga4.classify(response, purchase).kind).toBe(forPurchase);
    expect(ga4.classify(response, other).kind).toBe(forOther);
  });

  test("warns that a 204 doesn't prove anything", () => {
    expect(ga4.classify(vendorResponse(204), purchase)).toMatchObject({
      note: expect.stringContaining('even if the API secret is wrong'),
    });
  });

  test("drops a test event after a 500, because it isn't a purchase", () => {
    expect(ga4.classify(vendorResponse(500), classifyContext(config, testEvent())).kind).toBe('drop');
  });
});

describe('the GA4 config', () => {
  test.each([
    [config, true],
    [{ ...config, region: 'eu' }, true],
    [{ ...config, region: 'us' }, false],
    [{ ...config, measurementId: 'UA-12345-1' }, false],
    [{ ...config, measurementId: '1234567890' }, false],
    [{ ...config, measurementId: 'G-1A2B&api_secret=x' }, false],
    [{ ...config, apiSecret: 'x' }, false],
    [{ ...config, apiSecret: 'abc&measurement_id=G-OTHER' }, false],
    [{ measurementId: config.measurementId }, false],
    [{ ...config, more: true }, false],
  ])('accepts %j: %s', (value, accepted) => {
    expect(accepts(ga4, value)).toBe(accepted);
  });
});

describe('the GA4 probe', () => {
  test("sends a purchase to the validation server, which doesn't record it", () => {
    const request = ga4.probe?.build(config);
    expect(request?.url).toMatch(/^https:\/\/www\.google-analytics\.com\/debug\/mp\/collect\?measurement_id=G-/);
    const body = JSON.parse(request?.body ?? '');
    expect(body).toMatchObject({ validation_behavior: 'ENFORCE_RECOMMENDATIONS', events: [{ name: 'purchase' }] });
    expect(body).not.toHaveProperty('timestamp_micros');
  });

  test("warns that a valid format doesn't prove that the secret is valid", () => {
    expect(ga4.probe?.classify(vendorResponse(200, { validationMessages: [] }), config, 'send')).toEqual({
      ok: true,
      message: expect.stringContaining("doesn't check the ID and secret"),
    });
  });

  test("includes Google's message without revealing the secret", () => {
    const body = { validationMessages: [{ description: `NAME_INVALID ${config.apiSecret}\nmore` }] };
    const outcome = ga4.probe?.classify(vendorResponse(200, body), config, 'send');
    expect(outcome).toMatchObject({ ok: false, message: expect.stringContaining('NAME_INVALID') });
    expect(JSON.stringify(outcome)).not.toContain(config.apiSecret);
  });

  test('fails on an unexpected response from Google', () => {
    expect(ga4.probe?.classify(vendorResponse(500), config, 'send')).toMatchObject({ ok: false });
  });
});
