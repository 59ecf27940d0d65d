import { describe, expect, test } from 'vitest';
import { derivedId } from '../../../src/connectors/shared/derived-id.ts';
import { resend } from '../../../src/connectors/types/resend.ts';
import { EVENT_TYPES } from '../../../src/events/types.ts';
import { hostileEvent } from '../support/hostile.ts';
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

const apiKey = 're_c1tpEyD8_NKFusih9vKVQknRAQfmFcWCv';
const config = { apiKey, from: 'Pay <p@x.example>', to: ['a@x.example'] };
const settled = sampleEvent('payment.settled');

describe('a Resend request', () => {
  test('sends one email with an idempotency key that is the same on every attempt', () => {
    const request = requestOf(resend.build([settled], config, sampleContext()));
    expect(request).toMatchObject({
      method: 'POST',
      url: 'https://api.resend.com/emails',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'idempotency-key': derivedId(settled.id, CONNECTOR_ID),
      },
    });
    expect(JSON.parse(request.body ?? '')).toEqual({
      from: 'Pay <p@x.example>',
      to: ['a@x.example'],
      subject: 'Payment settled: 0.01 USDC',
      text: expect.stringContaining('Endpoint: GET /weather'),
      html: expect.stringContaining('<h1'),
      tags: [{ name: 'event', value: 'payment_settled' }],
    });
    const again = sampleContext({ attemptNumber: 4, previousAttemptAmbiguous: true, now: new Date(0) });
    expect(resend.build([settled], config, again)).toEqual(request);
  });

  test.each([
    ['a@x.example', ['a@x.example']],
    ['a@x.example, b@x.example', ['a@x.example', 'b@x.example']],
    ['"Doe, Jane" <j@x.example>,b@x.example', ['"Doe, Jane" <j@x.example>', 'b@x.example']],
  ])('splits the recipients %j', (to, recipients) => {
    expect(accepts(resend, { ...config, to })).toBe(true);
    expect(builtJson(resend, { ...config, to }, settled).to).toEqual(recipients);
  });

  test.each(EVENT_TYPES)('sends %s with a tag that Resend accepts', (eventType) => {
    expect(resend.supportsEvent(eventType, new Set())).toBe(true);
    expect(builtJson(resend, config, sampleEvent(eventType)).tags[0].value).toMatch(/^[A-Za-z0-9_-]+$/);
  });

  test('marks a test event', () => {
    expect(builtJson(resend, config, testEvent()).subject).toBe('[Test] Payment settled: 0.01 USDC');
  });

  test.each(EVENT_TYPES)("doesn't allow headers or markup in %s", (eventType) => {
    for (const text of HOSTILE_TEXTS) {
      const body = builtJson(resend, config, hostileEvent(eventType, text), sampleContext({ projectName: text }));
      expect(body.subject).not.toMatch(/\p{Cc}/u);
      expect(body.html).not.toMatch(/<script|<b |HYPERLINK\("|<!channel/);
    }
  });
});

describe('reading Resend responses', () => {
  const outcomeOf = (statusCode: number, body: string | object = '', headers = {}) =>
    resend.classify(vendorResponse(statusCode, body, headers), classifyContext(config, settled));
  const error = (statusCode: number, name: string, message = 'No.') => ({ statusCode, name, message });

  test.each([
    [200, { id: '49a3999c-0ce1-4ea6-ab68-afcd6dc2e794' }, 'delivered'],
    [200, {}, 'retry'],
    [200, '<html>', 'retry'],
    [400, error(400, 'validation_error'), 'drop'],
    [400, error(400, 'invalid_idempotency_key'), 'drop'],
    [401, error(401, 'missing_api_key'), 'pause'],
    [401, error(401, 'restricted_api_key'), 'pause'],
    [403, error(403, 'invalid_api_key'), 'pause'],
    [403, error(403, 'validation_error', 'The x.example domain is not verified.'), 'pause'],
    [409, error(409, 'invalid_idempotent_request'), 'drop'],
    [409, error(409, 'concurrent_idempotent_requests'), 'retry'],
    [422, error(422, 'missing_required_field'), 'drop'],
    [422, error(422, 'invalid_from_address'), 'pause'],
    [429, error(429, 'rate_limit_exceeded'), 'retry'],
    [429, error(429, 'daily_quota_exceeded'), 'retry'],
    [429, error(429, 'monthly_quota_exceeded'), 'retry'],
    [451, error(451, 'security_error'), 'drop'],
    [500, error(500, 'application_error'), 'retry'],
    [503, '<html>', 'retry'],
  ])('classifies %i %j as %s', (statusCode, body, kind) => {
    expect(outcomeOf(statusCode, body).kind).toBe(kind);
  });

  test('waits a second for the rate limit and several hours for a quota', () => {
    const headers = { 'retry-after': '1' };
    expect(outcomeOf(429, error(429, 'rate_limit_exceeded'), headers)).toMatchObject({ afterSeconds: 1 });
    expect(outcomeOf(429, error(429, 'daily_quota_exceeded'), headers)).toMatchObject({ afterSeconds: 14_400 });
    expect(outcomeOf(429, error(429, 'monthly_quota_exceeded'), headers)).toMatchObject({ afterSeconds: 86_400 });
    expect(outcomeOf(409, error(409, 'concurrent_idempotent_requests'), headers)).toMatchObject({ afterSeconds: 1 });
  });

  test.each([
    [400, 'API key is invalid', /^Resend rejected the API key\. Create a new one/],
    [401, 'API key is invalid', /^Resend rejected the API key\. Create a new one/],
    [403, 'The shop.example domain is not verified. Please, add and verify your domain', /^Resend hasn't verified/],
    [
      403,
      'You can only send testing emails to your own email address (a@b.example).',
      /^Resend allows only test emails from this sender/,
    ],
  ])('pauses after %i "%s" and says what to do', (status, message, reason) => {
    expect(outcomeOf(status, error(status, 'validation_error', message))).toEqual({
      kind: 'pause',
      reason: expect.stringMatching(reason),
    });
  });

  test("includes Resend's message without revealing the key", () => {
    expect(outcomeOf(422, error(422, 'validation_error', 'The `to` field is odd.'))).toMatchObject({
      reason: expect.stringContaining('The `to` field is odd.'),
    });
    expect(JSON.stringify(outcomeOf(400, error(400, 'x', `Key ${apiKey}`)))).not.toContain('c1tpEyD8');
  });
});

describe('the Resend config', () => {
  test.each([
    [{}, true],
    [{ to: ['a@x.example', 'Jane <j@x.example>'] }, true],
    [{ to: '' }, false],
    [{ to: ', ,' }, false],
    [{ to: [] }, false],
    [{ to: 'a@x.example; b@x.example' }, false],
    [{ to: 'a@x.example\r\nBcc: v@x.example' }, false],
    [{ to: ['nobody'] }, false],
    [{ to: Array.from({ length: 51 }, (_, index) => `a${index}@x.example`).join(',') }, false],
    [{ to: 'a'.repeat(20_000) }, false],
    [{ from: 'p@' }, false],
    [{ apiKey: 'SG.x.y' }, false],
    [{ apiKey: '' }, false],
    [{ cc: 'a@x.example' }, false],
  ])('accepts %j: %s', (change, isAccepted) => {
    expect(accepts(resend, { ...config, ...change })).toBe(isAccepted);
  });
});

describe('the Resend probe', () => {
  test('lists the domains', () => {
    expect(resend.probe!.build(config)).toMatchObject({
      method: 'GET',
      url: 'https://api.resend.com/domains',
      headers: { authorization: `Bearer ${apiKey}` },
    });
  });

  test.each([
    [200, { data: [] }, true],
    [401, { name: 'restricted_api_key' }, true],
    [401, { name: 'missing_api_key' }, false],
    [403, { name: 'invalid_api_key' }, false],
    [500, '', false],
  ])('turns %i %j into ok: %s', (statusCode, body, ok) => {
    expect(resend.probe!.classify(vendorResponse(statusCode, body), config, 'send')).toMatchObject({ ok });
  });
});
