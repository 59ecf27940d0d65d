import { describe, expect, test } from 'vitest';
import { linear } from '../../../src/connectors/types/linear.ts';
import { EVENT_TYPES } from '../../../src/events/types.ts';
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

const config = { apiKey: 'lin_api_secret', teamId: '9cfb482a-81e3-4154-b5b9-2c805e70a02d' };
const failed = sampleEvent('payment.failed');
const classify = (response: ReturnType<typeof vendorResponse>) =>
  linear.classify(response, classifyContext(config, failed));
const input = (...args: Parameters<typeof sampleEvent>) =>
  builtJson(linear, config, sampleEvent(...args)).variables.input;
const created = vendorResponse(200, {
  data: { issueCreate: { success: true, issue: { id: 'x', identifier: 'ENG-42', url: 'https://linear.app/x' } } },
});
const problem = (statusCode: number, type: string, code: string, message = 'Some message') =>
  vendorResponse(statusCode, {
    data: null,
    errors: [{ message, extensions: { type, code, userPresentableMessage: message } }],
  });

describe('a Linear request', () => {
  test('creates a high-priority issue for a failed payment', () => {
    const request = requestOf(
      linear.build([failed], config, sampleContext({ consoleUrl: 'https://console.example/e/1' })),
    );
    expect(request).toMatchObject({
      method: 'POST',
      url: 'https://api.linear.app/graphql',
      headers: { authorization: 'lin_api_secret', 'content-type': 'application/json' },
    });
    const { query, variables } = JSON.parse(request.body ?? '');
    expect(query).toBe(
      'mutation($input:IssueCreateInput!){issueCreate(input:$input){success issue{id identifier url}}}',
    );
    expect(variables.input).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      teamId: config.teamId,
      title: 'Payment failed: insufficient funds (/weather)',
      description: expect.any(String),
      priority: 2,
    });
    expect(variables.input.description.split('\n')).toEqual([
      '- **Amount:** `0.01 USDC`',
      '- **Endpoint:** `GET /weather`',
      '- **Stage:** `settle`',
      '- **Reason:** `The payer does not hold enough of the asset.`',
      '- **Payer:** `0x1F98431c8aD98523631AE4a59f267346ea31F984`',
      '- **Network:** `Base Sepolia (test network)`',
      '- **Project:** `Weather API`',
      '- **Time:** `2026-01-02 03:04:05 UTC`',
      '- **Event:** `evt_01jc9x2v5qe3w8k4m6n7p9r0st`',
      '',
      "This is the day's first failure for this reason at this endpoint. Later failures on the same UTC day won't open another issue.",
      '',
      '[Open the event](<https://console.example/e/1>)',
    ]);
  });

  test('gives milestones a low priority', () => {
    expect(input('customer.milestone')).toMatchObject({
      title: 'Customer milestone: 0x1F98…F984 reached 100.00 USD',
      priority: 4,
    });
  });

  test('sends only event types that need human attention', () => {
    expect(EVENT_TYPES.filter((eventType) => linear.supportsEvent(eventType, new Set(EVENT_TYPES)))).toEqual([
      'payment.failed',
      'customer.milestone',
    ]);
  });

  const FAULT = { stage: 'upstream', reason: 'upstream_error' } as const;
  test.each([
    [
      '404 for a buyer',
      { ...FAULT, upstreamStatusCode: 404 },
      1,
      'No issue was opened: the buyer caused this failure.',
    ],
    [
      'rejected payment',
      { stage: 'verify', reason: 'insufficient_funds' } as const,
      1,
      'No issue was opened: the buyer',
    ],
    ['single 503', { ...FAULT, upstreamStatusCode: 503 }, 1, '1 of 5 upstream failures within 5 min.'],
    ['fifth 503 in a row', { ...FAULT, upstreamStatusCode: 503 }, 5, 'issue'],
    ['failed settlement', {}, 1, 'issue'],
  ])('opens an issue for failures that the seller must fix: a %s', (_what, data, count, expected) => {
    const event = sampleEvent('payment.failed', data);
    expect(linear.lookBack?.(event, config)).toEqual(
      expected.includes('buyer') ? undefined : { endpointId: expect.any(String), minutes: 5 },
    );
    const history = { upstreamFaults: Array.from({ length: count }, () => EVENT_TIME), settledAt: null };
    const built = linear.build([event], config, sampleContext({ history }));
    if (expected === 'issue') expect(built).toMatchObject({ method: 'POST' });
    else expect(built).toEqual({ skip: expect.stringContaining(expected) });
  });

  test('opens no issue if a later payment settled', () => {
    const history = { upstreamFaults: [], settledAt: EVENT_TIME };
    expect(linear.build([failed], config, sampleContext({ history }))).toEqual({
      skip: 'No issue was opened: a later payment at this endpoint settled.',
    });
  });

  test('sends an OAuth token as a bearer token', () => {
    const built = linear.build([failed], { ...config, apiKey: 'lin_oauth_x' }, sampleContext());
    expect(requestOf(built).headers.authorization).toBe('Bearer lin_oauth_x');
  });

  test("groups an endpoint's failures by reason and day", () => {
    const id = (data: Parameters<typeof sampleEvent<'payment.failed'>>[1], envelope = {}) =>
      input('payment.failed', data as object, { id: `evt_${Math.random()}`, ...envelope }).id;
    expect(id({ paymentId: 'pay_2', message: 'other words' })).toBe(id({}));
    expect(id({ reason: 'expired' })).not.toBe(id({}));
    expect(id({ endpointId: 'ep_2' })).not.toBe(id({}));
    expect(id({}, { timestamp: '2026-01-03T00:00:00.000Z' })).not.toBe(id({}));
  });

  test('creates a separate issue for each connector', () => {
    const other = sampleContext({ connectorId: 'con_2' });
    expect(builtJson(linear, config, failed, other).variables.input.id).not.toBe(input('payment.failed').id);
  });

  test('marks a test event, which gets its own issue', () => {
    const { title, priority, id } = builtJson(linear, config, testEvent('payment.failed')).variables.input;
    expect({ title, priority }).toEqual({ title: '[Test] Payment failed: insufficient funds (/weather)', priority: 4 });
    expect(id).not.toBe(input('payment.failed').id);
  });

  test.each(HOSTILE_TEXTS)('keeps hostile text in its code span: %j', (text) => {
    const { title, description } = input('payment.failed', {
      reason: text,
      message: text,
      endpointPath: text,
      network: text,
    });
    expect(title.length).toBeLessThanOrEqual(200);
    expect(title).not.toMatch(/[\p{Cc}\p{Cs}\u202A-\u202E]/u);
    const facts = description.split('\n').filter((line: string) => line !== '' && !line.startsWith('This is'));
    for (const line of facts) expect(line).toMatch(/^- \*\*[A-Za-z]+:\*\* `[^`]*`$/);
  });
});

describe('reading Linear responses', () => {
  test.each([
    ['a created issue', created, 'delivered'],
    [
      'an issue that already exists',
      problem(200, 'invalid input', 'INPUT_ERROR', 'conflict on insert of Issue'),
      'delivered',
    ],
    [
      'an issue that already exists, with 400',
      problem(
        400,
        'invalid input',
        'INPUT_ERROR',
        'Conflict on insert of Issue - Entity Issue with id … already exists.',
      ),
      'delivered',
    ],
    ['200 without success', vendorResponse(200, { data: { issueCreate: { success: false } } }), 'drop'],
    ['200 without JSON', vendorResponse(200, '<html>'), 'retry'],
    ['a rate limit with 400', problem(400, 'ratelimited', 'RATELIMITED'), 'retry'],
    ['429', vendorResponse(429), 'retry'],
    ['a rejected key with 200', problem(200, 'authentication error', 'AUTHENTICATION_ERROR'), 'pause'],
    ['a rejected key with 401', problem(401, 'authentication error', 'AUTHENTICATION_ERROR'), 'pause'],
    ['a rejected key with 400', problem(400, 'authentication error', 'AUTHENTICATION_ERROR'), 'pause'],
    ['a missing permission', problem(200, 'forbidden', 'FORBIDDEN'), 'pause'],
    ['the usage limit of the plan', problem(200, 'usage limit exceeded', 'USAGE_LIMIT_EXCEEDED'), 'pause'],
    [
      'a deleted team',
      problem(200, 'invalid input', 'INPUT_ERROR', 'Entity not found: Team - Could not find'),
      'disable',
    ],
    ['rejected input', problem(200, 'invalid input', 'INVALID_INPUT'), 'drop'],
    ['a feature of another plan', problem(200, 'feature not accessible', 'FEATURE_NOT_ACCESSIBLE'), 'drop'],
    ['an internal error with 200', problem(200, 'internal error', 'INTERNAL_SERVER_ERROR'), 'retry'],
    ['a lock timeout', problem(200, 'lock timeout', 'LOCK_TIMEOUT'), 'retry'],
    ['400 without an error', vendorResponse(400), 'drop'],
    ['500', vendorResponse(500), 'retry'],
    ['503', vendorResponse(503, '<html>'), 'retry'],
    ['a redirect', vendorResponse(302), 'drop'],
  ])('classifies %s', (_case, response, kind) => {
    expect(classify(response).kind).toBe(kind);
  });

  test('waits as long as the headers say', () => {
    const limited = (headers: Record<string, string>) =>
      classify({ ...problem(400, 'ratelimited', 'RATELIMITED'), headers });
    const reset = String(Date.parse(EVENT_TIME) + 2000 + 90_000);
    expect(limited({ 'x-ratelimit-requests-reset': reset })).toMatchObject({ afterSeconds: 90 });
    expect(limited({ 'retry-after': '30', 'x-ratelimit-requests-reset': reset })).toMatchObject({ afterSeconds: 30 });
    expect(limited({})).toMatchObject({ afterSeconds: 300 });
  });

  test('names the issue without revealing the key', () => {
    expect(classify(created)).toEqual({ kind: 'delivered', note: 'Issue ENG-42.' });
    expect(JSON.stringify(classify(problem(200, 'other', 'OTHER', 'lin_api_secret')))).not.toContain('lin_api_secret');
  });
});

describe('the Linear config', () => {
  test.each([
    [{}, true],
    [{ teamId: 'ENG' }, false],
    [{ teamId: '' }, false],
    [{ teamId: undefined }, false],
    [{ apiKey: 'two words' }, false],
    [{ apiKey: undefined }, false],
    [{ projectId: 'x' }, false],
  ])('accepts %j: %s', (change, isGood) => {
    expect(accepts(linear, { ...config, ...change })).toBe(isGood);
  });
});

describe('the Linear probe', () => {
  const probe = (response: ReturnType<typeof vendorResponse>) => linear.probe?.classify(response, config, 'send');

  test('looks up the team', () => {
    expect(JSON.parse(linear.probe?.build(config).body ?? '')).toEqual({
      query: 'query($id:String!){viewer{id} team(id:$id){id key name}}',
      variables: { id: config.teamId },
    });
  });

  test('recognizes valid keys, invalid keys, and missing teams', () => {
    const found = vendorResponse(200, {
      data: { viewer: { id: 'u' }, team: { id: config.teamId, key: 'ENG', name: 'Eng\nine' } },
    });
    expect(probe(found)).toEqual({ ok: true, message: 'The key works and has access to the team Eng ine.' });
    expect(probe(vendorResponse(200, { data: { viewer: { id: 'u' }, team: null } }))).toMatchObject({ ok: false });
    expect(probe(problem(400, 'authentication error', 'AUTHENTICATION_ERROR'))).toMatchObject({ ok: false });
  });
});
