import { describe, expect, it } from 'vitest';
import { zapier } from '../../../src/connectors/types/zapier.ts';
import { EVENT_KINDS } from '../../../src/events/kinds.ts';
import { SAMPLE_PAYLOADS } from '../../../src/events/samples.ts';
import {
  accepts,
  answer,
  builtJson,
  classifyContext,
  HOSTILE_TEXTS,
  requestOf,
  sampleContext,
  sampleEvent,
  testEvent,
} from '../support/samples.ts';

const config = { webhookUrl: 'https://hooks.zapier.com/hooks/catch/1234567/abc123/' };

describe('what is sent', () => {
  it.each(EVENT_KINDS)('posts %s in the one envelope all kinds share', (kind) => {
    const request = requestOf(zapier.build([sampleEvent(kind)], config, sampleContext()));
    expect(request).toMatchObject({
      method: 'POST',
      url: config.webhookUrl,
      headers: { 'content-type': 'application/json' },
    });
    expect(JSON.parse(request.body ?? '')).toEqual({
      id: 'evt_01jc9x2v5qe3w8k4m6n7p9r0st',
      type: kind,
      timestamp: '2026-01-02T03:04:05.678Z',
      projectId: 'proj_01jc9x2v5qe3w8k4m6n7p9r0st',
      test: false,
      data: SAMPLE_PAYLOADS[kind],
    });
  });

  it('sends amounts as text, which no spreadsheet or form rounds', () => {
    expect(builtJson(zapier, config, sampleEvent('payment.settled')).data.amountUsd).toBe('0.01');
  });

  it('carries every kind', () => {
    expect(EVENT_KINDS.every((kind) => zapier.carries(kind, new Set([kind])))).toBe(true);
  });

  it('gives a test event a type that no Zap takes for a payment', () => {
    expect(builtJson(zapier, config, testEvent())).toMatchObject({ type: 'connector.test', test: true });
  });

  it('sends the same bytes on a retry', () => {
    const event = sampleEvent('payment.settled');
    const later = sampleContext({ attemptNumber: 3, now: new Date('2026-01-04') });
    expect(zapier.build([event], config, later)).toEqual(zapier.build([event], config, sampleContext()));
  });

  it.each(HOSTILE_TEXTS)('sends %j as one JSON object that reads back the same', (text) => {
    const body = builtJson(zapier, config, sampleEvent('payment.failed', { message: text, endpointPath: text }));
    expect(body.data).toMatchObject({ message: text, endpointPath: text });
  });
});

describe('what an answer means', () => {
  const context = classifyContext(config, sampleEvent('payment.settled'));
  it.each([
    ['success', answer(200, { status: 'success', id: 'x', attempt: 'x' }), 'delivered'],
    ['the empty answer of a silent hook', answer(200), 'delivered'],
    ['401', answer(401), 'pause'],
    ['404', answer(404), 'disable'],
    ['410', answer(410), 'disable'],
    ['413', answer(413), 'drop'],
    ['429', answer(429), 'retry'],
    ['500', answer(500), 'retry'],
    ['a redirect', answer(302), 'drop'],
  ])('%s', (_title, response, kind) => {
    expect(zapier.classify(response, context).kind).toBe(kind);
  });

  it('does not promise more than the always good answer says', () => {
    expect(zapier.classify(answer(200), context)).toMatchObject({ note: expect.stringContaining('no Zap') });
  });

  it('waits half a minute, or as long as it is told', () => {
    expect(zapier.classify(answer(429), context)).toMatchObject({ afterSeconds: 30 });
    expect(zapier.classify(answer(429, '', { 'retry-after': '90' }), context)).toMatchObject({ afterSeconds: 90 });
  });
});

describe('the settings', () => {
  it.each([
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
  ])('%s is accepted: %s', (webhookUrl, accepted) => {
    expect(accepts(zapier, { webhookUrl })).toBe(accepted);
  });

  it('takes nothing but the URL', () => {
    expect(accepts(zapier, { ...config, extra: 1 })).toBe(false);
    expect(accepts(zapier, {})).toBe(false);
  });
});

it('offers no probe: any call may start a Zap', () => {
  expect(zapier.probe).toBeUndefined();
});
