import { describe, expect, test } from 'vitest';
import { describeDelays } from '../../../src/connectors/describe.ts';
import { email } from '../../../src/connectors/types/email.ts';
import { getConnector } from '../../../src/connectors/types/registry.ts';
import { EVENT_TYPES } from '../../../src/events/types.ts';
import { hostileEvent } from '../support/hostile.ts';
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

const apiKey = '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';
const config = { apiKey, from: 'Pay <p@x.example>', to: ['a@x.example', '"Doe, Jane" <j@x.example>'] };
const settled = sampleEvent('payment.settled');

describe('a SendGrid request', () => {
  test('sends each recipient a separate email, with text before HTML', () => {
    const request = requestOf(email.build([settled], config, sampleContext()));
    expect(request).toMatchObject({
      method: 'POST',
      url: 'https://api.sendgrid.com/v3/mail/send',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    });
    expect(JSON.parse(request.body ?? '')).toEqual({
      personalizations: [{ to: [{ email: 'a@x.example' }] }, { to: [{ email: 'j@x.example', name: 'Doe, Jane' }] }],
      from: { email: 'p@x.example', name: 'Pay' },
      subject: 'Payment settled: 0.01 USDC',
      content: [
        { type: 'text/plain', value: expect.stringContaining('Endpoint: GET /weather') },
        { type: 'text/html', value: expect.stringContaining('<h1') },
      ],
      custom_args: { event_id: 'evt_01jc9x2v5qe3w8k4m6n7p9r0st' },
      tracking_settings: { click_tracking: { enable: false } },
    });
  });

  test('is retried after 5 s, 5 min, and 30 min, but never right away, because SendGrid has no idempotency key', () => {
    expect(email.retryDelaysSeconds!.slice(0, 3)).toEqual([5, 300, 1_800]);
    expect(describeDelays(getConnector('email'))).toBe('5 s, 5 min, 30 min, 2 h, 5 h, 10 h, and 24 h');
  });

  test("sends to the account's region", () => {
    const request = requestOf(email.build([settled], { ...config, region: 'eu' }, sampleContext()));
    expect(request.url).toBe('https://api.eu.sendgrid.com/v3/mail/send');
    expect(email.probe!.build({ ...config, region: 'eu' }).url).toBe('https://api.eu.sendgrid.com/v3/scopes');
  });

  test.each(EVENT_TYPES)('sends %s', (eventType) => {
    expect(email.supportsEvent(eventType, new Set())).toBe(true);
    expect(builtJson(email, config, sampleEvent(eventType)).subject).toMatch(/^[A-Z][a-z ]+: \S/);
  });

  test('marks a test event', () => {
    expect(builtJson(email, config, testEvent()).subject).toBe('[Test] Payment settled: 0.01 USDC');
  });

  test.each(EVENT_TYPES)("doesn't allow headers or markup in %s", (eventType) => {
    for (const text of HOSTILE_TEXTS) {
      const body = builtJson(email, config, hostileEvent(eventType, text), sampleContext({ projectName: text }));
      expect(body.subject).not.toMatch(/\p{Cc}/u);
      expect(body.subject.length).toBeLessThanOrEqual(150);
      expect(body.content[1].value).not.toMatch(/<script|<b |HYPERLINK\("|<!channel/);
    }
  });
});

describe('reading SendGrid responses', () => {
  const context = classifyContext(config, settled);
  const outcomeOf = (statusCode: number, body: string | object = '', headers = {}) =>
    email.classify(vendorResponse(statusCode, body, headers), context);
  const error = (message: string, field: string | null = null) => ({ errors: [{ message, field, help: null }] });

  test.each([
    [202, '', 'delivered'],
    [200, '', 'pause'],
    [204, '', 'drop'],
    [400, error('Does not contain a valid address.', 'personalizations.0.to.0.email'), 'drop'],
    [401, error('The provided authorization grant is invalid, expired, or revoked'), 'pause'],
    [401, error('Maximum credits exceeded'), 'retry'],
    [403, error('access forbidden'), 'pause'],
    [403, error('The from address does not match a verified Sender Identity.', 'from'), 'pause'],
    [413, '', 'drop'],
    [429, error('too many requests'), 'retry'],
    [500, '', 'retry'],
    [503, '<html>', 'retry'],
  ])('classifies %i %j as %s', (statusCode, body, kind) => {
    expect(outcomeOf(statusCode, body).kind).toBe(kind);
  });

  test('waits until the rate limit resets', () => {
    const resetAt = Math.floor(context.now.getTime() / 1000) + 40;
    expect(outcomeOf(429, '', { 'x-ratelimit-reset': String(resetAt) })).toMatchObject({ afterSeconds: 40 });
    expect(outcomeOf(429, '', { 'x-ratelimit-reset': '0' })).toMatchObject({ afterSeconds: 0 });
    expect(outcomeOf(429, '', { 'x-ratelimit-reset': 'soon' })).not.toHaveProperty('afterSeconds');
    expect(outcomeOf(429, '', { 'retry-after': '9' })).toMatchObject({ afterSeconds: 9 });
  });

  test('waits four hours if the plan has no emails left', () => {
    expect(outcomeOf(401, error('Maximum credits exceeded'))).toMatchObject({ afterSeconds: 14_400 });
  });

  test("includes SendGrid's message without revealing the key", () => {
    expect(outcomeOf(403, error('The from address does not match a verified Sender Identity.'))).toMatchObject({
      reason: expect.stringContaining('verified Sender Identity'),
    });
    expect(JSON.stringify(outcomeOf(401, error(`Key ${apiKey} is bad`)))).not.toContain('TwL2iGABf9');
  });
});

describe('the SendGrid config', () => {
  test.each([
    [{}, true],
    [{ to: ['a@x.example'] }, true],
    [{ region: 'eu' }, true],
    [{ to: [] }, false],
    [{ to: 'a@x.example' }, false],
    [{ to: ['a@x.example, b@x.example'] }, false],
    [{ to: ['not an address'] }, false],
    [{ to: [`a@x.example${' '.repeat(600)}`] }, false],
    [{ from: `${' '.repeat(600)}a@x.example` }, false],
    [{ to: Array.from({ length: 101 }, (_, index) => `a${index}@x.example`) }, false],
    [{ from: 'a@x.example\r\nBcc: v@x.example' }, false],
    [{ from: '' }, false],
    [{ apiKey: 're_123456789' }, false],
    [{ apiKey: 'SG.with space' }, false],
    [{ apiKey: '' }, false],
    [{ region: 'us' }, false],
    [{ subject: 'x' }, false],
  ])('accepts %j: %s', (change, isAccepted) => {
    expect(accepts(email, { ...config, ...change })).toBe(isAccepted);
  });

  test('mentions the Resend connector if the key is a Resend key', () => {
    const result = email.config.safeParse({ ...config, apiKey: 're_123456789' });
    expect(result.error?.issues[0]?.message).toContain('use the Resend connector');
  });
});

describe('the SendGrid probe', () => {
  test("reads the key's scopes", () => {
    expect(email.probe!.build(config)).toMatchObject({
      method: 'GET',
      url: 'https://api.sendgrid.com/v3/scopes',
      headers: { authorization: `Bearer ${apiKey}` },
    });
  });

  test.each([
    [200, { scopes: ['mail.send', 'user.email.read'] }, true],
    [200, { scopes: ['user.email.read'] }, false],
    [200, '<html>', false],
    [401, { errors: [{ message: 'authorization required' }] }, false],
    [403, {}, false],
  ])('turns %i %j into ok: %s', (statusCode, body, ok) => {
    expect(email.probe!.classify(vendorResponse(statusCode, body), config, 'send')).toMatchObject({ ok });
  });
});
