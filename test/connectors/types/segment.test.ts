import { describe, expect, test } from 'vitest';
import { segment } from '../../../src/connectors/types/segment.ts';
import { EVENT_TYPES, type EventType } from '../../../src/events/types.ts';
import {
  accepts,
  builtJson,
  CONNECTOR_ID,
  classifyContext,
  HOSTILE_TEXTS,
  requestOf,
  sampleContext,
  sampleEvent,
  testEvent,
  vendorResponse,
} from '../support/samples.ts';

const config = { writeKey: 'wk0123456789abcdefghijABCDEFGHIJ' };
const payer = '0x1f98431c8ad98523631ae4a59f267346ea31f984';
const common = { event_id: 'evt_01jc9x2v5qe3w8k4m6n7p9r0st', project_id: 'proj_01jc9x2v5qe3w8k4m6n7p9r0st' };
const payment = {
  ...common,
  payment_id: 'pay_01jc9x2v5qe3w8k4m6n7p9r0st',
  endpoint_id: 'ep_01jc9x2v5qe3w8k4m6n7p9r0st',
  endpoint_path: '/weather',
  method: 'GET',
  customer_id: 'cus_01jc9x2v5qe3w8k4m6n7p9r0st',
  asset: 'USDC',
  network: 'eip155:84532',
};
const transaction_hash = `0x${'5e'.repeat(32)}`;

describe('a Segment request', () => {
  test('sends a settled payment as an order with its revenue', () => {
    const request = requestOf(segment.build([sampleEvent('payment.settled')], config, sampleContext()));
    expect(request).toMatchObject({
      method: 'POST',
      url: 'https://api.segment.io/v1/track',
      headers: {
        'content-type': 'application/json',
        authorization: `Basic ${Buffer.from(`${config.writeKey}:`).toString('base64')}`,
      },
    });
    expect(JSON.parse(request.body ?? '')).toEqual({
      userId: payer,
      event: 'Order Completed',
      messageId: '5143f0fa58e8fb394a1ca453ede2707f',
      timestamp: '2026-01-02T03:04:05.678Z',
      properties: {
        ...payment,
        event_kind: 'payment.settled',
        transaction_hash,
        order_id: 'pay_01jc9x2v5qe3w8k4m6n7p9r0st',
        revenue: 0.01,
        total: 0.01,
        currency: 'USD',
      },
      context: { library: { name: 'tollgate', version: '1' } },
    });
  });

  const others: [EventType, string, string, Record<string, unknown>][] = [
    ['payment.verified', 'Payment Verified', payer, payment],
    ['payment.failed', 'Payment Failed', payer, { ...payment, stage: 'settle', reason: 'insufficient_funds' }],
    [
      'customer.first_payment',
      'First Payment',
      payer,
      (({ method: _, ...rest }) => ({ ...rest, transaction_hash }))(payment),
    ],
    [
      'customer.milestone',
      'Customer Milestone',
      payer,
      {
        ...common,
        customer_id: 'cus_01jc9x2v5qe3w8k4m6n7p9r0st',
        payment_id: 'pay_01jc9x2v5qe3w8k4m6n7p9r0st',
        milestone_usd: '100',
        payment_count: 10025,
      },
    ],
    [
      'endpoint.created',
      'Endpoint Created',
      common.project_id,
      { ...common, endpoint_id: payment.endpoint_id, endpoint_path: '/weather', price_usd: '0.01' },
    ],
    [
      'endpoint.pricing_changed',
      'Endpoint Pricing Changed',
      common.project_id,
      {
        ...common,
        endpoint_id: payment.endpoint_id,
        endpoint_path: '/weather',
        previous_price_usd: '0.01',
        price_usd: '0.02',
      },
    ],
    [
      'revenue.daily_summary',
      'Daily Revenue Summary',
      common.project_id,
      { ...common, date: '2026-01-02', payment_count: 1204, customer_count: 37, failed_count: 3 },
    ],
  ];
  test.each(others)('sends %s as "%s" without revenue', (eventType, event, userId, properties) => {
    const body = builtJson(segment, config, sampleEvent(eventType));
    expect(body).toMatchObject({ event, userId });
    expect(body.properties).toEqual({ ...properties, event_kind: eventType });
  });

  test('sends every event type', () => {
    expect(EVENT_TYPES.filter((eventType) => segment.supportsEvent(eventType, new Set(EVENT_TYPES)))).toEqual(
      EVENT_TYPES,
    );
  });

  test('sends to the European host if configured', () => {
    const request = requestOf(
      segment.build([sampleEvent('payment.settled')], { ...config, region: 'eu' }, sampleContext()),
    );
    expect(request.url).toBe('https://events.eu1.segmentapis.com/v1/track');
  });

  test('sends the same bytes on a retry, but a different ID for a different connector', () => {
    const event = sampleEvent('payment.settled');
    const first = segment.build([event], config, sampleContext());
    const later = sampleContext({ attemptNumber: 5, previousAttemptAmbiguous: true, now: new Date('2026-01-05') });
    expect(segment.build([event], config, later)).toEqual(first);
    const other = builtJson(segment, config, event, sampleContext({ connectorId: `${CONNECTOR_ID}x` }));
    expect(other.messageId).not.toBe(JSON.parse(requestOf(first).body ?? '').messageId);
  });

  test("uses the payment ID as the user ID of an unknown payer, so strangers aren't merged", () => {
    const event = sampleEvent('payment.verified', { payer: null, customerId: null });
    expect(builtJson(segment, config, event).userId).toBe(payment.payment_id);
  });

  test('marks a test event and omits its revenue', () => {
    const { event, userId, properties } = builtJson(segment, config, testEvent('payment.settled'));
    expect({ event, userId }).toEqual({ event: 'Connector Test', userId: common.project_id });
    expect(properties.test).toBe(true);
    expect(JSON.stringify(properties)).not.toMatch(/revenue|total|currency|order_id/);
  });

  test.each(HOSTILE_TEXTS)('stays within 32 KB of plain text for %j', (text) => {
    const event = sampleEvent('payment.failed', { endpointPath: text, reason: text, method: text, asset: text });
    const request = requestOf(segment.build([event], config, sampleContext()));
    expect(Buffer.byteLength(request.body ?? '')).toBeLessThan(32 * 1024);
    const { properties } = JSON.parse(request.body ?? '');
    expect(properties.reason).not.toMatch(/[\p{Cc}\p{Cs}\u202E]/u);
    expect(Object.keys(properties)).not.toContain('token');
  });
});

describe('reading Segment responses', () => {
  const context = classifyContext(config, sampleEvent('payment.settled'));
  test.each([
    ['a confirmed event', vendorResponse(200, { success: true }), 'delivered'],
    ['200 without confirmation', vendorResponse(200, { success: false }), 'retry'],
    ['200 from an intermediary', vendorResponse(200, '<html>'), 'retry'],
    ['another 2xx', vendorResponse(204), 'drop'],
    ["a redirect, which Segment's library treats as success", vendorResponse(302), 'drop'],
    ['a body that is malformed or too large', vendorResponse(400, { message: 'malformed JSON' }), 'drop'],
    ['401', vendorResponse(401), 'pause'],
    ['408', vendorResponse(408), 'retry'],
    ["410, which Segment's library retries", vendorResponse(410), 'retry'],
    ['429', vendorResponse(429), 'retry'],
    ['460', vendorResponse(460), 'retry'],
    ['500', vendorResponse(500), 'retry'],
    ['503', vendorResponse(503), 'retry'],
    ['501', vendorResponse(501), 'drop'],
    ['505', vendorResponse(505), 'drop'],
    ['511', vendorResponse(511), 'drop'],
  ])('classifies %s', (_title, response, kind) => {
    expect(segment.classify(response, context).kind).toBe(kind);
  });

  test('waits as long as Retry-After says, or else a minute', () => {
    expect(segment.classify(vendorResponse(429, '', { 'retry-after': '7' }), context)).toMatchObject({
      afterSeconds: 7,
    });
    expect(segment.classify(vendorResponse(429), context)).toMatchObject({ afterSeconds: 60 });
  });

  test("warns that a success response doesn't prove that the write key is known", () => {
    expect(segment.classify(vendorResponse(200, { success: true }), context)).toMatchObject({
      note: expect.stringContaining('unknown write key'),
    });
  });

  test('never reveals the write key', () => {
    const outcome = segment.classify(vendorResponse(400, { message: `bad key ${config.writeKey}` }), context);
    expect(JSON.stringify(outcome)).not.toContain(config.writeKey);
  });
});

describe('the Segment config', () => {
  test.each([
    [config, true],
    [{ ...config, region: 'us' }, true],
    [{ ...config, region: 'eu' }, true],
    [{ ...config, region: 'EU' }, false],
    [{ writeKey: '' }, false],
    [{ writeKey: 'short' }, false],
    [{ writeKey: 'with space 0123456789' }, false],
    [{ writeKey: 'colon:0123456789' }, false],
    [{ writeKey: 'newline0123456789\n' }, false],
    [{ writeKey: 42 }, false],
    [{ ...config, url: 'https://evil.example' }, false],
    [{}, false],
  ])('accepts %j: %s', (value, accepted) => {
    expect(accepts(segment, value)).toBe(accepted);
  });
});

describe('the Segment probe', () => {
  test("reads the source's settings", () => {
    expect(segment.probe?.build(config)).toEqual({
      method: 'GET',
      url: `https://cdn.segment.com/v1/projects/${config.writeKey}/settings`,
      headers: {},
    });
  });

  test.each([
    [200, true],
    [404, false],
    [400, false],
    [503, false],
  ])('turns HTTP %i into ok: %s', (statusCode, ok) => {
    expect(segment.probe?.classify(vendorResponse(statusCode, {}), config, 'send')).toMatchObject({ ok });
  });
});
