import { describe, expect, test } from 'vitest';
import { datadog } from '../../../src/connectors/types/datadog.ts';
import { EVENT_TYPES, type EventType } from '../../../src/events/types.ts';
import {
  accepts,
  builtJson,
  classifyContext,
  EVENT_TIME,
  HOSTILE_TEXTS,
  requestOf,
  sampleContext,
  sampleEvent,
  testEvent,
  vendorResponse,
} from '../support/samples.ts';

const config = { apiKey: '0123456789abcdef0123456789abcdef' };
const endpointTag = 'endpoint:ep_01jc9x2v5qe3w8k4m6n7p9r0st';
const projectTag = 'project:proj_01jc9x2v5qe3w8k4m6n7p9r0st';
const endpointKey = 'tollgate:ep_01jc9x2v5qe3w8k4m6n7p9r0st';

describe('a Datadog request', () => {
  test('posts a settled payment as an event of API version 1', () => {
    const request = requestOf(datadog.build([sampleEvent('payment.settled')], config, sampleContext()));
    expect(request).toMatchObject({
      method: 'POST',
      url: 'https://api.datadoghq.com/api/v1/events',
      headers: { 'content-type': 'application/json', 'dd-api-key': config.apiKey },
    });
    const { text, ...rest } = JSON.parse(request.body ?? '');
    expect(rest).toEqual({
      title: 'Payment settled: 0.01 USDC (/weather)',
      alert_type: 'success',
      priority: 'normal',
      aggregation_key: endpointKey,
      tags: ['event:payment.settled', projectTag, endpointTag, 'network:eip155:84532'],
      source_type_name: 'tollgate',
      date_happened: 1767323045,
    });
    expect(text).toMatch(/^%%% \n- Amount: `0\.01 USDC`\n/);
    expect(text).toMatch(/\n %%%$/);
    expect(text).toContain(`- Time: ${EVENT_TIME}`);
    expect(text).toContain('- Event: `evt_01jc9x2v5qe3w8k4m6n7p9r0st`');
  });

  const expected: Record<EventType, [string, string, string[]]> = {
    'payment.verified': ['Payment verified: 0.01 USDC (/weather)', 'info', [endpointTag, 'network:eip155:84532']],
    'payment.settled': ['Payment settled: 0.01 USDC (/weather)', 'success', [endpointTag, 'network:eip155:84532']],
    'payment.failed': ['Payment failed: insufficient funds (/weather)', 'error', [endpointTag, 'network:eip155:84532']],
    'customer.first_payment': [
      'New customer: first payment of 0.01 USDC (/weather)',
      'success',
      [endpointTag, 'network:eip155:84532'],
    ],
    'customer.milestone': ['Customer milestone: 0x1F98…F984 reached 100.00 USD', 'success', []],
    'endpoint.created': ['Endpoint created: /weather at 0.01 USD', 'info', [endpointTag]],
    'endpoint.pricing_changed': ['Price changed: /weather from 0.01 USD to 0.02 USD', 'warning', [endpointTag]],
    'revenue.daily_summary': ['Daily revenue: 12.34 USD on 2026-01-02, 1204 payments, 37 customers', 'info', []],
  };
  test.each(EVENT_TYPES)('sends %s with its title, tone, and tags', (eventType) => {
    const [title, alertType, tags] = expected[eventType];
    const body = builtJson(datadog, config, sampleEvent(eventType));
    expect(body).toMatchObject({ title, alert_type: alertType, tags: [`event:${eventType}`, projectTag, ...tags] });
  });

  test('never tags by wallet, because there are too many wallets', () => {
    for (const eventType of EVENT_TYPES) {
      expect(JSON.stringify(builtJson(datadog, config, sampleEvent(eventType)).tags)).not.toMatch(/0x[0-9a-f]{8}/i);
    }
  });

  test('sends every event type', () => {
    expect(EVENT_TYPES.every((eventType) => datadog.supportsEvent(eventType, new Set([eventType])))).toBe(true);
  });

  test("sends to the organization's site", () => {
    const built = datadog.build([sampleEvent('payment.settled')], { ...config, site: 'datadoghq.eu' }, sampleContext());
    expect(requestOf(built).url).toBe('https://api.datadoghq.eu/api/v1/events');
  });

  test('omits the time from late retries, which Datadog would reject, and keeps it in the text', () => {
    const bodyAfter = (hours: number) => {
      const now = new Date(Date.parse(EVENT_TIME) + hours * 3_600_000);
      return builtJson(datadog, config, sampleEvent('payment.settled'), sampleContext({ now }));
    };
    const { date_happened: _, ...timeless } = bodyAfter(0);
    expect(bodyAfter(16.9)).toEqual(bodyAfter(0));
    expect(bodyAfter(18)).toEqual(timeless);
    expect(timeless.text).toContain(EVENT_TIME);
  });

  test('links to the console if its URL is known', () => {
    const context = sampleContext({ consoleUrl: 'https://console.example.com/events/evt_1' });
    const { text } = builtJson(datadog, config, sampleEvent('payment.settled'), context);
    expect(text).toContain('[Open in the console](https://console.example.com/events/evt_1)');
  });

  test('marks a test event in its title and tags', () => {
    const body = builtJson(datadog, config, testEvent());
    expect(body.title).toMatch(/^\[Test\] /);
    expect(body.tags).toContain('test:true');
    expect(body.aggregation_key).toBe('tollgate:test');
  });

  test.each(HOSTILE_TEXTS)("doesn't let %j notify anyone or break out of its line", (text) => {
    const data = { endpointPath: text, message: text, reason: text, method: text, network: text };
    const body = builtJson(datadog, config, sampleEvent('payment.failed', data));
    expect(body.title).not.toMatch(/[@\p{Cc}\p{Cs}\u202E]/u);
    expect(body.title.length).toBeLessThanOrEqual(200);
    expect(body.text).not.toContain('@');
    expect(body.text.match(/%%%/g)).toHaveLength(2);
    for (const line of body.text.split('\n').slice(1, -1)) {
      expect(line).toMatch(/^- [A-Z][\w ()]*: (`[^`]*`|[^`]*)$/);
    }
  });
});

describe('reading Datadog responses', () => {
  const context = classifyContext(config, sampleEvent('payment.settled'));
  test.each([
    ['an accepted event', vendorResponse(202, { status: 'ok', event: { id: 1 } }), 'delivered'],
    ['200', vendorResponse(200, { status: 'ok' }), 'delivered'],
    ['204', vendorResponse(204), 'drop'],
    ['400', vendorResponse(400, { errors: ['Invalid date_happened'] }), 'drop'],
    ['a wrong key or the wrong site', vendorResponse(403, { errors: ['Forbidden'] }), 'pause'],
    ['401', vendorResponse(401), 'pause'],
    ['408', vendorResponse(408), 'retry'],
    ['413', vendorResponse(413), 'drop'],
    ['429', vendorResponse(429), 'retry'],
    ['500', vendorResponse(500), 'retry'],
    ['a redirect', vendorResponse(302), 'drop'],
  ])('classifies %s', (_title, response, kind) => {
    expect(datadog.classify(response, context).kind).toBe(kind);
  });

  test('waits until the rate limit resets', () => {
    const limited = (headers: Record<string, string>) => datadog.classify(vendorResponse(429, '', headers), context);
    expect(limited({ 'x-ratelimit-reset': '17' })).toMatchObject({ afterSeconds: 17 });
    expect(limited({ 'x-ratelimit-reset': '17', 'retry-after': '3' })).toMatchObject({ afterSeconds: 3 });
    expect(limited({})).not.toHaveProperty('afterSeconds');
    expect(limited({ 'x-ratelimit-reset': 'soon' })).not.toHaveProperty('afterSeconds');
  });

  test('mentions the site as a possible reason for a 403', () => {
    expect(datadog.classify(vendorResponse(403), context)).toMatchObject({ reason: expect.stringContaining('site') });
  });

  test("includes Datadog's message without revealing the key", () => {
    const outcome = datadog.classify(vendorResponse(400, { errors: [`bad date ${config.apiKey}`] }), context);
    expect(outcome).toMatchObject({ reason: expect.stringContaining('bad date') });
    expect(JSON.stringify(outcome)).not.toContain(config.apiKey);
  });
});

describe('the Datadog config', () => {
  test.each([
    [config, true],
    [{ ...config, site: 'us5.datadoghq.com' }, true],
    [{ ...config, site: 'uk1.datadoghq.com' }, true],
    [{ ...config, site: 'app.datadoghq.com' }, false],
    [{ ...config, site: 'evil.example' }, false],
    [{ ...config, site: 'datadoghq.com.evil.example' }, false],
    [{ apiKey: 'short' }, false],
    [{ apiKey: 'has space 0123456789abcdef' }, false],
    [{ ...config, appKey: 'x' }, false],
    [{}, false],
  ])('accepts %j: %s', (value, accepted) => {
    expect(accepts(datadog, value)).toBe(accepted);
  });
});

describe('the Datadog probe', () => {
  test('validates the key at the configured site', () => {
    expect(datadog.probe?.build({ ...config, site: 'datadoghq.eu' })).toEqual({
      method: 'GET',
      url: 'https://api.datadoghq.eu/api/v1/validate',
      headers: { 'dd-api-key': config.apiKey },
    });
  });

  test.each([
    [vendorResponse(200, { valid: true }), true, 'is valid at'],
    [vendorResponse(200, { valid: false }), false, "isn't valid at"],
    [vendorResponse(403, { errors: ['Forbidden'] }), false, "isn't valid at"],
    [vendorResponse(500), false, "couldn't check"],
  ])('turns %j into ok: %s', (response, ok, words) => {
    expect(datadog.probe?.classify(response, config, 'send')).toEqual({ ok, message: expect.stringContaining(words) });
  });
});
