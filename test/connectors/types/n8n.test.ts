import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { n8n } from '../../../src/connectors/types/n8n.ts';
import { SAMPLE_PAYLOADS } from '../../../src/events/samples.ts';
import { EVENT_TYPES } from '../../../src/events/types.ts';
import { toResponse } from '../support/deliver.ts';
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
import { N8N_RESPONSES, noRoute, unpublished } from '../support/vendors/n8n-responses.ts';

const path = '0c4f5a2e-9d0b-4a53-9e3f-3d3d8e0a7b11';
const config = { webhookUrl: `https://example.app.n8n.cloud/webhook/${path}` };

describe('an n8n request', () => {
  test.each(EVENT_TYPES)('posts %s in the common envelope', (eventType) => {
    const request = requestOf(n8n.build([sampleEvent(eventType)], config, sampleContext()));
    expect(request).toMatchObject({ method: 'POST', url: config.webhookUrl });
    expect(request.headers).toEqual({
      'content-type': 'application/json',
      'x-event-id': 'evt_01jc9x2v5qe3w8k4m6n7p9r0st',
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
    expect(EVENT_TYPES.every((eventType) => n8n.supportsEvent(eventType, new Set([eventType])))).toBe(true);
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
  test.each([
    ['a started workflow', vendorResponse(200, { message: 'Workflow was started' }), 'delivered'],
    ["the workflow author's own response", vendorResponse(201, 'thanks'), 'delivered'],
    ['204', vendorResponse(204), 'delivered'],
    ['a workflow that is not published', toResponse(unpublished(path)), 'retry'],
    ['a node that accepts GET', toResponse(N8N_RESPONSES.wrongMethod), 'retry'],
    ['a server that does not know webhooks yet', toResponse(noRoute(path)), 'retry'],
    ['a server that updates its database, with status 200', toResponse(N8N_RESPONSES.startingUp), 'retry'],
    ['400', vendorResponse(400), 'drop'],
    ['a missing authentication header', toResponse(N8N_RESPONSES.unauthorized), 'pause'],
    ['a wrong authentication header', toResponse(N8N_RESPONSES.forbidden), 'pause'],
    ['410', vendorResponse(410), 'disable'],
    ['413', vendorResponse(413), 'drop'],
    ['429', vendorResponse(429), 'retry'],
    ['a failed run', toResponse(N8N_RESPONSES.failedRun), 'retry'],
    ['a run whose last node returned no item', toResponse(N8N_RESPONSES.noItem), 'delivered'],
    ['503', vendorResponse(503), 'retry'],
    ['a redirect', vendorResponse(301), 'drop'],
  ])('classifies %s', (_title, response, kind) => {
    expect(n8n.classify(response, context).kind).toBe(kind);
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

  test.each([
    'No item to return was found',
    'No item to return got found',
    'No item to return got found.',
    'No item was found to return',
    'No binary data was found to return',
    'No binary data to return got found.',
    "No 'responseBinaryPropertyName' is set",
    'No "responseBinaryPropertyName" is set.',
    "'responseBinaryPropertyName' is not a string",
    "The binary property 'data' which should be returned does not exist",
    'The binary property "data" which should be returned does not exist.',
  ])('takes a run that succeeded without a result for a delivery: %s', (message) => {
    const outcome = n8n.classify(vendorResponse(500, { code: 0, message }), { ...context, attemptNumber: 4 });
    expect(outcome).toEqual({
      kind: 'delivered',
      note: `The workflow ran, but n8n had no result to respond with: ${message}`,
    });
    // The workflow itself may respond with the same words.
    expect(n8n.classify(vendorResponse(500, { message }), context).kind).toBe('retry');
  });

  test.each([
    'Workflow Webhook Error: Workflow could not be started!',
    'No Respond to Webhook node found in the workflow',
    'Unused Respond to Webhook node found in the workflow',
    'Webhook node not correctly configured',
    "The response mode 'later' is not valid!",
  ])('never gives up on a workflow that did not start: %s', (message) => {
    const outcome = n8n.classify(vendorResponse(500, { code: 0, message }), { ...context, attemptNumber: 9 });
    expect(outcome).toEqual({
      kind: 'retry',
      reason: expect.stringContaining(`Check its Webhook node. n8n returned: ${message}`),
    });
  });

  test.each([
    ['the words of a failed run', toResponse(N8N_RESPONSES.failedRun)],
    ['a run that was canceled', toResponse(N8N_RESPONSES.problem)],
    ["the workflow's own 500", vendorResponse(500, { error: 'no such customer' })],
    ['a 500 without a body', vendorResponse(500)],
    ['a page with status 500', vendorResponse(500, '<h1>Internal Server Error</h1>')],
  ])('takes %s for a failed run', (_title, response) => {
    expect(n8n.classify(response, { ...context, attemptNumber: 4 })).toMatchObject({
      kind: 'drop',
      reason: expect.stringContaining('The n8n workflow failed. Gave up after 4 attempts.'),
    });
    expect(n8n.failedRuns?.includes(response)).toBe(true);
  });

  test.each([
    ["n8n's page before its routes exist", toResponse(noRoute(path))],
    ["a proxy's text", vendorResponse(404, '404 page not found\n')],
    ["a proxy's JSON", vendorResponse(404, { message: 'no Route matched with those values' })],
    ["a host's JSON", vendorResponse(404, { status: 'error', code: 404, message: 'Application not found' })],
    ["the workflow's own 404", vendorResponse(404, { error: 'no such customer' })],
    ['nothing', vendorResponse(404)],
    ['the text during a database update, with status 200', toResponse(N8N_RESPONSES.startingUp)],
    ['an error during startup', toResponse(N8N_RESPONSES.databaseNotReady)],
  ])('leaves %s to the normal schedule, like a failed connection', (_title, response) => {
    for (const attemptNumber of [1, 9]) {
      const outcome = n8n.classify(response, { ...context, attemptNumber });
      expect(outcome).toEqual({ kind: 'retry', reason: expect.not.stringContaining('ublish') });
    }
  });

  test.each([
    ['headers', N8N_RESPONSES.unauthorized, /authentication header in the config\.$/],
    [
      'headers or bots',
      N8N_RESPONSES.forbidden,
      /authentication header in the config\. Also turn off Ignore Bots in the node\.$/,
    ],
    ['addresses', N8N_RESPONSES.addressNotAllowed, /^The Webhook node rejects our IP address\./],
    [
      'addresses, in version 1',
      { statusCode: 403, body: 'IP is not whitelisted to access the webhook!' },
      /^The Webhook node rejects our IP/,
    ],
  ])('says what to change in a Webhook node that rejects %s', (_title, answer, words) => {
    expect(n8n.classify(toResponse(answer), context)).toEqual({ kind: 'pause', reason: expect.stringMatching(words) });
  });

  test('takes other text with status 200 for a response from the workflow', () => {
    const body = 'n8n is starting up. Please wait, your order is next.';
    expect(n8n.classify(vendorResponse(200, body), context)).toEqual({ kind: 'delivered' });
  });

  test.each([
    [
      vendorResponse(404, { code: 404, message: 'Active version not found for workflow with id "1"' }),
      /^n8n has no published/,
    ],
    [
      toResponse(unpublished(path)),
      /^n8n has no published workflow with this webhook URL. Publish the workflow. n8n returned: /,
    ],
    [
      toResponse(N8N_RESPONSES.wrongMethod),
      /^The Webhook node doesn't accept POST\..* Did you mean to make a GET request\?$/,
    ],
  ])('retries soon twice, and then every hour, while there is no webhook for POST', (response, reason) => {
    const outcomes = [1, 2, 3, 4].map((attemptNumber) => n8n.classify(response, { ...context, attemptNumber }));
    expect(n8n.retryDelaysSeconds?.slice(0, 2)).toEqual([5, 300]);
    const soon = { kind: 'retry', reason: expect.stringMatching(reason) };
    expect(outcomes).toEqual([soon, soon, { ...soon, afterSeconds: 3600 }, { ...soon, afterSeconds: 3600 }]);
  });

  test('never reveals the path, the header, or the signing secret', () => {
    const settings = { ...config, authHeaderValue: 'header-canary', signingSecret: 'signing-canary' };
    const message = `"POST ${path}" header-canary signing-canary ${config.webhookUrl}`;
    for (const statusCode of [400, 401, 404, 500]) {
      for (const start of ['', 'No item to return was found: ', 'Webhook node not correctly configured: ']) {
        const outcome = n8n.classify(
          vendorResponse(statusCode, { code: statusCode === 404 ? 404 : 0, message: start + message }),
          classifyContext(settings, sampleEvent('payment.settled')),
        );
        expect(JSON.stringify(outcome)).not.toMatch(new RegExp(`${path}|canary`));
      }
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
