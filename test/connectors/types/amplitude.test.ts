import { describe, expect, test } from 'vitest';
import { amplitude } from '../../../src/connectors/types/amplitude.ts';
import { EVENT_TYPES } from '../../../src/events/types.ts';
import {
  accepts,
  builtJson,
  classifyContext,
  HOSTILE_TEXTS,
  requestOf,
  sampleContext,
  sampleEvent,
  testEvent,
  vendorResponse,
} from '../support/samples.ts';

const config = { apiKey: 'a1b2c3d4e5f60718293a4b5c6d7e8f90' };
const payer = '0x1f98431c8ad98523631ae4a59f267346ea31f984';
const projectId = 'proj_01jc9x2v5qe3w8k4m6n7p9r0st';
const REVENUE_FIELDS = ['price', 'quantity', 'revenue', 'productId', 'revenueType', 'currency'];

describe('an Amplitude request', () => {
  test('sends a settled payment with its revenue at the top level', () => {
    const request = requestOf(amplitude.build([sampleEvent('payment.settled')], config, sampleContext()));
    expect(request).toMatchObject({ method: 'POST', url: 'https://api2.amplitude.com/2/httpapi' });
    expect(JSON.parse(request.body ?? '')).toEqual({
      api_key: config.apiKey,
      events: [
        {
          event_type: 'payment.settled',
          user_id: payer,
          insert_id: '5143f0fa58e8fb394a1ca453ede2707f',
          time: 1767323045678,
          price: 0.01,
          quantity: 1,
          productId: 'ep_01jc9x2v5qe3w8k4m6n7p9r0st',
          revenueType: 'payment',
          currency: 'USD',
          event_properties: {
            event_id: 'evt_01jc9x2v5qe3w8k4m6n7p9r0st',
            event_kind: 'payment.settled',
            project_id: projectId,
            payment_id: 'pay_01jc9x2v5qe3w8k4m6n7p9r0st',
            endpoint_id: 'ep_01jc9x2v5qe3w8k4m6n7p9r0st',
            endpoint_path: '/weather',
            method: 'GET',
            customer_id: 'cus_01jc9x2v5qe3w8k4m6n7p9r0st',
            asset: 'USDC',
            network: 'eip155:84532',
            transaction_hash: `0x${'5e'.repeat(32)}`,
          },
        },
      ],
      options: { min_id_length: 1 },
    });
  });

  test.each([
    ['payment.verified', payer],
    ['payment.failed', payer],
    ['customer.first_payment', payer],
    ['customer.milestone', payer],
    ['endpoint.created', projectId],
    ['endpoint.pricing_changed', projectId],
    ['revenue.daily_summary', projectId],
  ] as const)('sends %s of %s without revenue', (eventType, userId) => {
    const [event] = builtJson(amplitude, config, sampleEvent(eventType)).events;
    expect(event).toMatchObject({
      event_type: eventType,
      user_id: userId,
      event_properties: { event_kind: eventType },
    });
    expect(Object.keys(event).filter((name) => REVENUE_FIELDS.includes(name))).toEqual([]);
  });

  test('never merges unknown payers into one user', () => {
    const unknown = { payer: null, customerId: null };
    const [first] = builtJson(amplitude, config, sampleEvent('payment.verified', unknown)).events;
    const other = sampleEvent('payment.verified', { ...unknown, paymentId: 'pay_other' });
    expect(builtJson(amplitude, config, other).events[0].user_id).not.toBe(first.user_id);
  });

  test('leaves the device ID to Amplitude, which derives it from the user', () => {
    expect(builtJson(amplitude, config, sampleEvent('payment.settled')).events[0]).not.toHaveProperty('device_id');
  });

  test('sends every event type', () => {
    expect(EVENT_TYPES.every((eventType) => amplitude.supportsEvent(eventType, new Set([eventType])))).toBe(true);
  });

  test('sends to the European host if configured', () => {
    const built = amplitude.build([sampleEvent('payment.settled')], { ...config, region: 'eu' }, sampleContext());
    expect(requestOf(built).url).toBe('https://api.eu.amplitude.com/2/httpapi');
  });

  test('sends the same bytes on a retry', () => {
    const event = sampleEvent('payment.settled');
    const later = sampleContext({ attemptNumber: 3, now: new Date('2026-01-04') });
    expect(amplitude.build([event], config, later)).toEqual(amplitude.build([event], config, sampleContext()));
  });

  test('marks a test event and omits its revenue', () => {
    const [event] = builtJson(amplitude, config, testEvent()).events;
    expect(event).toMatchObject({ event_type: 'connector.test', event_properties: { test: true } });
    expect(Object.keys(event).filter((name) => REVENUE_FIELDS.includes(name))).toEqual([]);
  });

  test.each(HOSTILE_TEXTS)('sends %j as plain text', (text) => {
    const [event] = builtJson(amplitude, config, sampleEvent('payment.failed', { reason: text })).events;
    expect(event.event_properties.reason).not.toMatch(/[\p{Cc}\p{Cs}\u202E]/u);
  });
});

describe('reading Amplitude responses', () => {
  const context = classifyContext(config, sampleEvent('payment.settled'));
  test.each([
    ['one ingested event', vendorResponse(200, { code: 200, events_ingested: 1 }), 'delivered'],
    ['200 with no ingested event', vendorResponse(200, { code: 200, events_ingested: 0 }), 'drop'],
    ['200 without a count', vendorResponse(200, 'success'), 'retry'],
    ['a wrong key, which causes a 400 here', vendorResponse(400, { code: 400, error: 'Invalid API key' }), 'pause'],
    [
      'a missing key',
      vendorResponse(400, { code: 400, error: 'Request missing required field', missing_field: 'api_key' }),
      'pause',
    ],
    [
      'a rejected field',
      vendorResponse(400, { error: 'Invalid field values on some events', events_with_invalid_fields: { time: [0] } }),
      'drop',
    ],
    [
      'a silenced device',
      vendorResponse(400, { error: 'Events silenced for device_id', silenced_events: [0] }),
      'drop',
    ],
    ['a body that is not JSON', vendorResponse(400, 'Bad Request'), 'drop'],
    ['a firewall error, which is unrelated to the key', vendorResponse(403, { code: 403, error: 'Forbidden' }), 'drop'],
    ['413', vendorResponse(413, { code: 413, error: 'Payload too large' }), 'drop'],
    ['429', vendorResponse(429, { code: 429, eps_threshold: 30 }), 'retry'],
    ['500', vendorResponse(500), 'retry'],
    ['502', vendorResponse(502), 'retry'],
    ['503', vendorResponse(503), 'retry'],
    ['504', vendorResponse(504), 'retry'],
    ['a redirect', vendorResponse(301), 'drop'],
  ])('classifies %s', (_title, response, kind) => {
    expect(amplitude.classify(response, context).kind).toBe(kind);
  });

  test('waits as long as Retry-After says; otherwise, 30 seconds for a throttled user and an hour for a daily quota', () => {
    const throttled = { code: 429, throttled_users: { [payer]: 31 } };
    const overQuota = { code: 429, exceeded_daily_quota_users: { [payer]: 500_001 } };
    expect(amplitude.classify(vendorResponse(429, throttled), context)).toMatchObject({ afterSeconds: 30 });
    expect(amplitude.classify(vendorResponse(429, overQuota), context)).toMatchObject({ afterSeconds: 3600 });
    expect(amplitude.classify(vendorResponse(429, overQuota, { 'retry-after': '5' }), context)).toMatchObject({
      afterSeconds: 5,
    });
  });

  test('names the rejected fields', () => {
    const response = vendorResponse(400, {
      error: 'Invalid field values on some events',
      events_with_invalid_fields: { time: [0] },
    });
    expect(amplitude.classify(response, context)).toMatchObject({ reason: expect.stringContaining('(time)') });
  });

  test('never reveals the key', () => {
    const outcome = amplitude.classify(vendorResponse(400, { error: `bad ${config.apiKey}` }), context);
    expect(JSON.stringify(outcome)).not.toContain(config.apiKey);
  });
});

describe('the Amplitude config', () => {
  test.each([
    [config, true],
    [{ ...config, region: 'eu' }, true],
    [{ ...config, region: 'in' }, false],
    [{ apiKey: 'short' }, false],
    [{ apiKey: `${config.apiKey}\u0000` }, false],
    [{ apiKey: '' }, false],
    [{ ...config, secretKey: 'x' }, false],
    [{}, false],
  ])('accepts %j: %s', (value, accepted) => {
    expect(accepts(amplitude, value)).toBe(accepted);
  });
});

test('Amplitude has no probe, because the API key can only send events', () => {
  expect(amplitude.probe).toBeUndefined();
});
