import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { n8n } from '../../../src/connectors/types/n8n.ts';
import { EVENT_KINDS } from '../../../src/events/kinds.ts';
import { SAMPLE_PAYLOADS } from '../../../src/events/samples.ts';
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

const path = '0c4f5a2e-9d0b-4a53-9e3f-3d3d8e0a7b11';
const config = { webhookUrl: `https://example.app.n8n.cloud/webhook/${path}` };

describe('an n8n request', () => {
  test.each(EVENT_KINDS)('posts %s in the common envelope', (kind) => {
    const request = requestOf(n8n.build([sampleEvent(kind)], config, sampleContext()));
    expect(request).toMatchObject({ method: 'POST', url: config.webhookUrl });
    expect(request.headers).toEqual({
      'content-type': 'application/json',
      'x-event-id': 'evt_01jc9x2v5qe3w8k4m6n7p9r0st',
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

  test('sends every event type', () => {
    expect(EVENT_KINDS.every((kind) => n8n.carries(kind, new Set([kind])))).toBe(true);
  });

  test('sends the configured authentication header', () => {
    const headersFor = (settings: object) =>
      requestOf(n8n.build([sampleEvent('payment.settled')], { ...config, ...settings }, sampleContext())).headers;
    expect(headersFor({ authHeaderName: 'X-Api-Key', authHeaderValue: 's3cret' })).toMatchObject({
      'x-api-key': 's3cret',
    });
    expect(headersFor({ authHeaderValue: 'Basic dXNlcjpwYXNz' })).toMatchObject({
      authorization: 'Basic dXNlcjpwYXNz',
    });
    expect(headersFor({ authHeaderName: 'X-Api-Key' })).not.toHaveProperty('x-api-key');
  });

  test('signs the exact bytes of the body if there is a signing secret', () => {
    const settings = { ...config, signingSecret: 'shared secret' };
    const { headers, body = '' } = requestOf(n8n.build([sampleEvent('payment.settled')], settings, sampleContext()));
    const expected = createHmac('sha256', 'shared secret').update(body).digest('hex');
    expect(headers['x-event-signature']).toBe(`sha256=${expected}`);
  });

  test('uses a separate type for test events, so no workflow mistakes them for payments', () => {
    expect(builtJson(n8n, config, testEvent())).toMatchObject({ type: 'connector.test', test: true });
  });

  test('sends the same bytes on a retry', () => {
    const event = sampleEvent('payment.settled');
    const settings = { ...config, signingSecret: 'shared secret' };
    const later = sampleContext({ attemptNumber: 3, now: new Date('2026-01-04') });
    expect(n8n.build([event], settings, later)).toEqual(n8n.build([event], settings, sampleContext()));
  });

  test.each(HOSTILE_TEXTS)('sends %j as JSON without changing it', (text) => {
    expect(builtJson(n8n, config, sampleEvent('payment.failed', { message: text })).data.message).toBe(text);
  });
});

describe('reading n8n responses', () => {
  const context = classifyContext(config, sampleEvent('payment.settled'));
  const notRegistered = { code: 404, message: `The requested webhook "POST ${path}" is not registered.`, hint: '…' };
  const wrongMethod = {
    code: 404,
    message: 'This webhook is not registered for POST requests. Did you mean to make a GET request?',
  };
  test.each([
    ['a started workflow', vendorResponse(200, { message: 'Workflow was started' }), 'delivered'],
    ["the workflow author's own response", vendorResponse(201, 'thanks'), 'delivered'],
    ['204', vendorResponse(204), 'delivered'],
    ['a workflow that is turned off', vendorResponse(404, notRegistered), 'retry'],
    ['a node that accepts GET', vendorResponse(404, wrongMethod), 'retry'],
    ['400', vendorResponse(400), 'drop'],
    ['401', vendorResponse(401, 'Authorization is required!'), 'pause'],
    ['403', vendorResponse(403, 'Authorization data is wrong!'), 'pause'],
    ['410', vendorResponse(410), 'disable'],
    ['413', vendorResponse(413), 'drop'],
    ['429', vendorResponse(429), 'retry'],
    ['a failed run', vendorResponse(500, { message: 'Error in workflow' }), 'retry'],
    ['503', vendorResponse(503), 'retry'],
    ['a redirect', vendorResponse(301), 'drop'],
  ])('classifies %s', (_title, response, kind) => {
    expect(n8n.classify(response, context).kind).toBe(kind);
  });

  test("includes n8n's message and retries after an hour", () => {
    expect(n8n.classify(vendorResponse(404, wrongMethod), context)).toMatchObject({
      afterSeconds: 3600,
      reason: expect.stringContaining('Did you mean to make a GET request?'),
    });
  });

  test('runs a failed workflow again after 5 seconds, 5 minutes, and 30 minutes, and then gives up', () => {
    const outcomes = [1, 2, 3, 4].map((attemptNumber) =>
      n8n.classify(vendorResponse(500), { ...context, attemptNumber }),
    );
    expect(n8n.retryDelaysSeconds?.slice(0, 3)).toEqual([5, 300, 1_800]);
    expect(outcomes).toMatchObject([
      { kind: 'retry' },
      { kind: 'retry' },
      { kind: 'retry' },
      { kind: 'drop', reason: expect.stringContaining('Gave up after 4 attempts. Check its executions') },
    ]);
    expect(n8n.classify(vendorResponse(502), { ...context, attemptNumber: 4 }).kind).toBe('retry');
  });

  test('never reveals the path, the header, or the signing secret', () => {
    const settings = { ...config, authHeaderValue: 'header-canary', signingSecret: 'signing-canary' };
    const message = `${notRegistered.message} header-canary signing-canary ${config.webhookUrl}`;
    for (const statusCode of [400, 401, 404, 500]) {
      const outcome = n8n.classify(
        vendorResponse(statusCode, { message }),
        classifyContext(settings, sampleEvent('payment.settled')),
      );
      expect(JSON.stringify(outcome)).not.toMatch(new RegExp(`${path}|canary`));
    }
  });
});

describe('the n8n config', () => {
  test.each([
    [config.webhookUrl, true],
    ['https://n8n.example.com/webhook/orders', true],
    ['https://n8n.example.com:5678/custom/prefix/webhook/orders?team=1', true],
    ['https://automation.example.org/hooks/webhook-tester', true],
    ['http://n8n.example.com/webhook/orders', false],
    ['https://n8n.example.com/webhook-test/orders', false],
    ['https://n8n.example.com/sub/webhook-test/orders', false],
    ['https://n8n.example.com/', false],
    ['https://user:pass@n8n.example.com/webhook/orders', false],
    ['https://n8n.example.com/webhook/orders#x', false],
    ['ftp://n8n.example.com/webhook/orders', false],
    ['', false],
  ])('accepts %s: %s', (webhookUrl, accepted) => {
    expect(accepts(n8n, { webhookUrl })).toBe(accepted);
  });

  test.each([
    [{ authHeaderName: 'X-Api-Key', authHeaderValue: 's3cret' }, true],
    [{ authHeaderValue: 'Bearer abc' }, true],
    [{ signingSecret: 'a shared secret phrase' }, true],
    [{ signingSecret: 'too short' }, false],
    [{ authHeaderName: 'Host', authHeaderValue: 'evil.example' }, false],
    [{ authHeaderName: 'Content-Length', authHeaderValue: '0' }, false],
    [{ authHeaderName: 'transfer-encoding', authHeaderValue: 'chunked' }, false],
    [{ authHeaderName: 'Proxy-Authorization', authHeaderValue: 'x' }, false],
    [{ authHeaderName: 'X-Event-Id', authHeaderValue: 'x' }, false],
    [{ authHeaderName: 'X Api Key', authHeaderValue: 'x' }, false],
    [{ authHeaderName: 'X-Api-Key:', authHeaderValue: 'x' }, false],
    [{ authHeaderValue: 'a\r\nX-Injected: 1' }, false],
    [{ authHeaderValue: 'naïve' }, false],
    [{ authHeaderValue: ' padded ' }, false],
    [{ authHeaderValue: '' }, false],
    [{ user: 'x' }, false],
  ])('accepts %j: %s', (settings, accepted) => {
    expect(accepts(n8n, { ...config, ...settings })).toBe(accepted);
  });
});

test('n8n has a longer timeout, because a workflow can respond after it has run', () => {
  expect(n8n.timeoutSeconds).toBe(30);
});
