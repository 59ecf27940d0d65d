import { describe, expect, test } from 'vitest';
import { mixpanel } from '../../../src/connectors/types/mixpanel.ts';
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

const config = { projectToken: 'a1b2c3d4e5f60718293a4b5c6d7e8f90' };
const payer = '0x1f98431c8ad98523631ae4a59f267346ea31f984';

describe('a Mixpanel request', () => {
  test('imports a settled payment with its amount', () => {
    const request = requestOf(mixpanel.build([sampleEvent('payment.settled')], config, sampleContext()));
    expect(request).toMatchObject({
      method: 'POST',
      url: 'https://api.mixpanel.com/import?strict=1',
      headers: {
        'content-type': 'application/json',
        authorization: `Basic ${Buffer.from(`${config.projectToken}:`).toString('base64')}`,
      },
    });
    expect(JSON.parse(request.body ?? '')).toEqual([
      {
        event: 'Payment Settled',
        properties: {
          time: 1767323045678,
          distinct_id: payer,
          $insert_id: '5143f0fa58e8fb394a1ca453ede2707f',
          ip: 0,
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
          amount: 0.01,
          currency: 'USD',
        },
      },
    ]);
  });

  test.each([
    ['payment.verified', 'Payment Verified', payer],
    ['payment.failed', 'Payment Failed', payer],
    ['customer.first_payment', 'First Payment', payer],
    ['customer.milestone', 'Customer Milestone', payer],
    ['endpoint.created', 'Endpoint Created', ''],
    ['endpoint.pricing_changed', 'Endpoint Pricing Changed', ''],
    ['revenue.daily_summary', 'Daily Revenue Summary', ''],
  ] as const)('imports %s as "%s" with user "%s" and without an amount', (eventType, event, distinctId) => {
    const [record] = builtJson(mixpanel, config, sampleEvent(eventType));
    expect(record.event).toBe(event);
    expect(record.properties.distinct_id).toBe(distinctId);
    expect(record.properties).not.toHaveProperty('amount');
    expect(record.properties).not.toHaveProperty('currency');
    const numbers = Object.entries(record.properties).filter(([, value]) => typeof value === 'number');
    const counts = ['time', 'ip', 'payment_count', 'customer_count', 'failed_count'];
    expect(numbers.map(([name]) => name).filter((name) => !counts.includes(name))).toEqual([]);
  });

  test('sends every event type', () => {
    expect(EVENT_TYPES.every((eventType) => mixpanel.supportsEvent(eventType, new Set([eventType])))).toBe(true);
  });

  test.each([
    ['us', 'api.mixpanel.com'],
    ['eu', 'api-eu.mixpanel.com'],
    ['in', 'api-in.mixpanel.com'],
  ] as const)('sends to the %s host', (region, host) => {
    const request = requestOf(mixpanel.build([sampleEvent('payment.settled')], { ...config, region }, sampleContext()));
    expect(new URL(request.url).host).toBe(host);
  });

  test('sends the same time and ID on a retry, so Mixpanel can deduplicate', () => {
    const event = sampleEvent('payment.settled');
    const later = sampleContext({ attemptNumber: 3, now: new Date('2026-01-04') });
    expect(mixpanel.build([event], config, later)).toEqual(mixpanel.build([event], config, sampleContext()));
  });

  test('marks a test event and omits its user and amount', () => {
    const [record] = builtJson(mixpanel, config, testEvent());
    expect(record).toMatchObject({ event: 'Connector Test', properties: { test: true, distinct_id: '' } });
    expect(record.properties).not.toHaveProperty('amount');
  });

  test.each(HOSTILE_TEXTS)('sends %j as plain text and never as the token', (text) => {
    const event = sampleEvent('payment.settled', { endpointPath: text, method: text, asset: text });
    const [{ properties }] = builtJson(mixpanel, config, event);
    expect(properties.endpoint_path).not.toMatch(/[\p{Cc}\p{Cs}\u202E]/u);
    expect(properties).not.toHaveProperty('token');
  });
});

describe('reading Mixpanel responses', () => {
  const context = classifyContext(config, sampleEvent('payment.settled'));
  const imported = { code: 200, num_records_imported: 1, status: 'OK' };
  const failed = {
    code: 400,
    num_records_imported: 0,
    status: 'Bad Request',
    failed_records: [{ index: 0, $insert_id: 'x', field: 'properties.time', message: 'too old' }],
  };
  test.each([
    ['one imported record', vendorResponse(200, imported), 'delivered'],
    ['200 with no imported record', vendorResponse(200, { ...imported, num_records_imported: 0 }), 'drop'],
    ['200 in the format of `/track`', vendorResponse(200, '1'), 'drop'],
    ['a rejected record', vendorResponse(400, failed), 'drop'],
    ['an invalid token', vendorResponse(401, { error: 'Invalid credentials', status: 0 }), 'pause'],
    ['403', vendorResponse(403), 'pause'],
    ['a request that is too large', vendorResponse(413), 'drop'],
    ['429', vendorResponse(429, { error: 'rate limit' }), 'retry'],
    ['502', vendorResponse(502), 'retry'],
    ['503', vendorResponse(503), 'retry'],
    ['a redirect', vendorResponse(307), 'drop'],
  ])('classifies %s', (_title, response, kind) => {
    expect(mixpanel.classify(response, context).kind).toBe(kind);
  });

  test('names the rejected field', () => {
    expect(mixpanel.classify(vendorResponse(400, failed), context)).toMatchObject({
      reason: expect.stringContaining('properties.time: too old'),
    });
  });

  test('never reveals the token', () => {
    const outcome = mixpanel.classify(vendorResponse(401, { error: `token ${config.projectToken} unknown` }), context);
    expect(JSON.stringify(outcome)).not.toContain(config.projectToken);
  });
});

describe('the Mixpanel config', () => {
  test.each([
    [config, true],
    [{ ...config, region: 'in' }, true],
    [{ ...config, region: 'mars' }, false],
    [{ projectToken: 'a1b2' }, false],
    [{ projectToken: `${config.projectToken}:x` }, false],
    [{ projectToken: '' }, false],
    [{ ...config, extra: 1 }, false],
    [{}, false],
  ])('accepts %j: %s', (value, accepted) => {
    expect(accepts(mixpanel, value)).toBe(accepted);
  });
});

describe('the Mixpanel probe', () => {
  test('asks Mixpanel to validate the token', () => {
    expect(mixpanel.probe?.build(config)).toEqual({
      method: 'POST',
      url: 'https://mixpanel.com/api/app/validate-project-credentials/',
      headers: { 'content-type': 'application/json' },
      body: `{"project_token":"${config.projectToken}"}`,
    });
  });

  test.each([
    [200, true, 'is valid'],
    [400, false, "isn't valid"],
    [401, false, "isn't valid"],
    [429, false, "couldn't check"],
    [500, false, "couldn't check"],
  ])('turns HTTP %i into ok: %s', (statusCode, ok, words) => {
    expect(mixpanel.probe?.classify(vendorResponse(statusCode), config, 'send')).toEqual({
      ok,
      message: expect.stringContaining(words),
    });
  });
});
