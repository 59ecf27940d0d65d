import { describe, expect, test } from 'vitest';
import { make } from '../../../src/connectors/types/make.ts';
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

const path = 'abcdefghijklmnopqrstuvwxyz012345';
const config = { webhookUrl: `https://hook.eu2.make.com/${path}` };

describe('a Make request', () => {
  test.each(EVENT_TYPES)('posts %s in the common envelope', (eventType) => {
    const request = requestOf(make.build([sampleEvent(eventType)], config, sampleContext()));
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

  test('sends every event type', () => {
    expect(EVENT_TYPES.every((eventType) => make.supportsEvent(eventType, new Set([eventType])))).toBe(true);
  });

  test('uses a separate type for test events, so no scenario mistakes them for payments', () => {
    const body = builtJson(make, config, testEvent());
    expect(body).toMatchObject({ type: 'connector.test', test: true });
    expect(Object.keys(body)).toEqual(Object.keys(builtJson(make, config, sampleEvent('payment.settled'))));
  });

  test('sends the same bytes on a retry', () => {
    const event = sampleEvent('payment.settled');
    const later = sampleContext({ attemptNumber: 3, now: new Date('2026-01-04') });
    expect(make.build([event], config, later)).toEqual(make.build([event], config, sampleContext()));
  });

  test.each(HOSTILE_TEXTS)('sends %j as JSON without changing it', (text) => {
    expect(builtJson(make, config, sampleEvent('payment.failed', { message: text })).data.message).toBe(text);
  });
});

describe('reading Make responses', () => {
  const context = classifyContext(config, sampleEvent('payment.settled'));
  test.each([
    ['a queued event', vendorResponse(200, 'Accepted'), 'delivered'],
    ['the response of a Webhook response module', vendorResponse(201, { any: 'thing' }), 'delivered'],
    ['a full queue, which causes a 400', vendorResponse(400, 'Queue is full.'), 'retry'],
    ['another 400', vendorResponse(400, 'Validation failed for 2 parameters.'), 'drop'],
    ['401', vendorResponse(401, 'Unauthorized'), 'pause'],
    ['404', vendorResponse(404), 'disable'],
    ['410, for a scenario that is turned off', vendorResponse(410, 'Gone'), 'retry'],
    ['413', vendorResponse(413), 'drop'],
    ['429', vendorResponse(429, 'Too many requests'), 'retry'],
    ['a failed run', vendorResponse(500, 'Scenario failed to complete.'), 'retry'],
    ['503', vendorResponse(503), 'retry'],
    ['a redirect', vendorResponse(302), 'drop'],
  ])('classifies %s', (_title, response, kind) => {
    expect(make.classify(response, context).kind).toBe(kind);
  });

  test('retries every hour while a scenario is turned off, with that reason', () => {
    expect(make.classify(vendorResponse(410), context)).toMatchObject({
      afterSeconds: 3600,
      reason: expect.stringContaining('turned off'),
    });
  });

  test('waits as long as the rate limit asks for', () => {
    expect(make.classify(vendorResponse(400, 'Queue is full.'), context)).toMatchObject({ afterSeconds: 60 });
    expect(make.classify(vendorResponse(429), context)).toMatchObject({ afterSeconds: 10 });
    expect(make.classify(vendorResponse(429, '', { 'retry-after': '42' }), context)).toMatchObject({
      afterSeconds: 42,
    });
  });

  test('runs a failed scenario again after 5 seconds, 5 minutes, and 30 minutes, and then gives up', () => {
    const failure = vendorResponse(500, 'Scenario failed to complete.');
    const outcomes = [1, 2, 3, 4].map((attemptNumber) => make.classify(failure, { ...context, attemptNumber }));
    expect(make.retryDelaysSeconds?.slice(0, 3)).toEqual([5, 300, 1_800]);
    expect(outcomes).toMatchObject([
      { kind: 'retry' },
      { kind: 'retry' },
      { kind: 'retry' },
      { kind: 'drop', reason: expect.stringContaining('Gave up after 4 attempts. Check its history') },
    ]);
    expect(make.classify(vendorResponse(503), { ...context, attemptNumber: 4 }).kind).toBe('retry');
  });

  test('warns that the scenario may not have run', () => {
    expect(make.classify(vendorResponse(200, 'Accepted'), context)).toMatchObject({
      note: expect.stringContaining('to see whether it ran'),
    });
  });

  test('never reveals the URL', () => {
    for (const body of [config.webhookUrl, `unknown hook ${path}`]) {
      expect(JSON.stringify(make.classify(vendorResponse(400, body), context))).not.toContain(path);
    }
  });
});

describe('the Make config', () => {
  test.each([
    [`https://hook.eu1.make.com/${path}`, true],
    [`https://hook.us2.make.com/${path}`, true],
    [`https://hook.eu1.make.celonis.com/${path}`, true],
    [`https://hook.eu2.make.celonis.com/${path}`, false],
    [`https://hook.make.com/${path}`, false],
    [`https://hook.integromat.com/${path}`, false],
    [`https://www.make.com/${path}`, false],
    [`https://hook.eu1.make.com.evil.example/${path}`, false],
    [`https://evil.example/hook.eu1.make.com/${path}`, false],
    [`http://hook.eu1.make.com/${path}`, false],
    [`https://hook.eu1.make.com:444/${path}`, false],
    [`https://hook.eu1.make.com/${path}?type=x`, false],
    [`https://hook.eu1.make.com/${path}/more`, false],
    ['https://hook.eu1.make.com/short', false],
    ['https://hook.eu1.make.com/', false],
    ['', false],
  ])('accepts %s: %s', (webhookUrl, accepted) => {
    expect(accepts(make, { webhookUrl })).toBe(accepted);
  });

  test('accepts only the URL', () => {
    expect(accepts(make, { ...config, apiKey: 'x' })).toBe(false);
  });
});

test('Make has a longer timeout, because a scenario can respond after it has run', () => {
  expect(make.timeoutSeconds).toBe(30);
});
