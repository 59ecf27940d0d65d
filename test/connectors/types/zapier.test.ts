import { describe, expect, test } from 'vitest';
import { zapier } from '../../../src/connectors/types/zapier.ts';
import { SAMPLE_PAYLOADS } from '../../../src/events/samples.ts';
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

const config = { webhookUrl: 'https://hooks.zapier.com/hooks/catch/1234567/abc123/' };

describe('a Zapier request', () => {
  test.each(EVENT_TYPES)('posts %s in the common envelope', (eventType) => {
    const request = requestOf(zapier.build([sampleEvent(eventType)], config, sampleContext()));
    expect(request).toMatchObject({
      method: 'POST',
      url: config.webhookUrl,
      headers: { 'content-type': 'application/json' },
    });
    expect(JSON.parse(request.body ?? '')).toEqual({
      id: 'evt_01jc9x2v5qe3w8k4m6n7p9r0st',
      type: eventType,
      timestamp: '2026-01-02T03:04:05.678Z',
      projectId: 'proj_01jc9x2v5qe3w8k4m6n7p9r0st',
      test: false,
      data: SAMPLE_PAYLOADS[eventType],
    });
  });

  test('sends amounts as text, so no spreadsheet or form rounds them', () => {
    expect(builtJson(zapier, config, sampleEvent('payment.settled')).data.amountUsd).toBe('0.01');
  });

  test('sends every event type', () => {
    expect(EVENT_TYPES.every((eventType) => zapier.supportsEvent(eventType, new Set([eventType])))).toBe(true);
  });

  test('uses a separate type for test events, so no Zap mistakes them for payments', () => {
    expect(builtJson(zapier, config, testEvent())).toMatchObject({ type: 'connector.test', test: true });
  });

  test('sends the same bytes on a retry', () => {
    const event = sampleEvent('payment.settled');
    const later = sampleContext({ attemptNumber: 3, now: new Date('2026-01-04') });
    expect(zapier.build([event], config, later)).toEqual(zapier.build([event], config, sampleContext()));
  });

  test.each(HOSTILE_TEXTS)('sends %j as one JSON object without changing it', (text) => {
    const body = builtJson(zapier, config, sampleEvent('payment.failed', { message: text, endpointPath: text }));
    expect(body.data).toMatchObject({ message: text, endpointPath: text });
  });
});

describe('reading Zapier responses', () => {
  const context = classifyContext(config, sampleEvent('payment.settled'));
  test.each([
    ['success', vendorResponse(200, { status: 'success', id: 'x', attempt: 'x' }), 'delivered'],
    ['the empty response of a silent hook', vendorResponse(200), 'delivered'],
    ['401', vendorResponse(401), 'pause'],
    ['404', vendorResponse(404), 'disable'],
    ['410', vendorResponse(410), 'disable'],
    ['413', vendorResponse(413), 'drop'],
    ['429', vendorResponse(429), 'retry'],
    ['500', vendorResponse(500), 'retry'],
    ['a redirect', vendorResponse(302), 'drop'],
  ])('classifies %s', (_title, response, kind) => {
    expect(zapier.classify(response, context).kind).toBe(kind);
  });

  test('warns that Zapier accepts every request', () => {
    expect(zapier.classify(vendorResponse(200), context)).toMatchObject({ note: expect.stringContaining('no Zap') });
  });

  test('waits half a minute, or as long as Retry-After says', () => {
    expect(zapier.classify(vendorResponse(429), context)).toMatchObject({ afterSeconds: 30 });
    expect(zapier.classify(vendorResponse(429, '', { 'retry-after': '90' }), context)).toMatchObject({
      afterSeconds: 90,
    });
  });
});

describe('the Zapier config', () => {
  test.each([
    ['https://hooks.zapier.com/hooks/catch/1234567/abc123/', true],
    ['https://hooks.zapier.com/hooks/catch/1234567/abc123', true],
    ['https://hooks.zapier.com/hooks/catch/1234567/abc123/silent/', true],
    ['https://hooks.zapier.com/hooks/catch/abc123/', true],
    ['http://hooks.zapier.com/hooks/catch/1234567/abc123/', false],
    ['https://hooks.zapier.com/hooks/standard/1234567/abc123/', false],
    ['https://hooks.zapier.com/', false],
    ['https://zapier.com/hooks/catch/1234567/abc123/', false],
    ['https://hooks.zapier.com.evil.example/hooks/catch/1234567/abc123/', false],
    ['https://evil.example/hooks.zapier.com/hooks/catch/1234567/abc123/', false],
    ['https://hooks.zapier.com@evil.example/hooks/catch/1234567/abc123/', false],
    ['https://hooks.zapier.com:8443/hooks/catch/1234567/abc123/', false],
    ['https://hooks.zapier.com/hooks/catch/1234567/abc123/?id=1', false],
    ['https://hooks.zapier.com/hooks/catch/1234567/abc123/#x', false],
    ['https://hooks.zapier.com/hooks/catch/../standard/abc123/', false],
    ['not a url', false],
    ['', false],
  ])('accepts %s: %s', (webhookUrl, accepted) => {
    expect(accepts(zapier, { webhookUrl })).toBe(accepted);
  });

  test('accepts only the URL', () => {
    expect(accepts(zapier, { ...config, extra: 1 })).toBe(false);
    expect(accepts(zapier, {})).toBe(false);
  });
});

test('Zapier has no probe, because any call may start a Zap', () => {
  expect(zapier.probe).toBeUndefined();
});
