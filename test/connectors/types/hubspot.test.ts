import { describe, expect, test } from 'vitest';
import { hubspot } from '../../../src/connectors/types/hubspot.ts';
import { EVENT_KINDS } from '../../../src/events/kinds.ts';
import { drive } from '../support/drive.ts';
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

const config = { accessToken: 'pat-eu1-secret' };
const wallet = '0x1f98431c8ad98523631ae4a59f267346ea31f984';
const first = sampleEvent('customer.first_payment');
const milestone = sampleEvent('customer.milestone');
const written = vendorResponse(200, { status: 'COMPLETE', results: [{ id: '101', new: true }] });
const unknownProperty = vendorResponse(400, {
  status: 'error',
  message: 'Property values were not valid',
  category: 'VALIDATION_ERROR',
  errors: [{ code: 'PROPERTY_DOESNT_EXIST', message: 'Property "x402_wallet" does not exist' }],
});
const partial = (category: string, message = 'Some message') =>
  vendorResponse(207, {
    status: 'COMPLETE',
    results: [],
    numErrors: 1,
    errors: [{ status: 'error', category, message }],
  });
const classify = (response: ReturnType<typeof vendorResponse>, overrides = {}) =>
  hubspot.classify(response, classifyContext(config, milestone, { step: 'upsert', ...overrides }));

describe('a HubSpot request', () => {
  test('upserts the contact of a first payment by its wallet, without a total', () => {
    const request = requestOf(hubspot.build([first], config, sampleContext()));
    expect(request).toMatchObject({
      method: 'POST',
      url: 'https://api.hubapi.com/crm/objects/2026-03/contacts/batch/upsert',
      headers: { authorization: 'Bearer pat-eu1-secret', 'content-type': 'application/json' },
    });
    expect(JSON.parse(request.body ?? '')).toEqual({
      inputs: [
        {
          idProperty: 'x402_wallet',
          id: wallet,
          objectWriteTraceId: 'evt_01jc9x2v5qe3w8k4m6n7p9r0st',
          properties: { x402_wallet: wallet, x402_first_payment_at: '2026-01-02T03:04:05.678Z' },
        },
      ],
    });
  });

  test('writes the running totals of a milestone as text', () => {
    expect(builtJson(hubspot, config, milestone).inputs[0].properties).toEqual({
      x402_wallet: wallet,
      x402_total_usd: '100.25',
      x402_payments: '10025',
      x402_milestone: '100',
    });
  });

  test('sends the two event types about customers and skips everything else, including test events', () => {
    const carried = EVENT_KINDS.filter((kind) => hubspot.carries(kind, new Set(EVENT_KINDS)));
    expect(carried).toEqual(['customer.first_payment', 'customer.milestone']);
    for (const kind of EVENT_KINDS) {
      expect(hubspot.build([testEvent(kind)], config, sampleContext())).toHaveProperty('skip');
      if (carried.includes(kind)) continue;
      expect(hubspot.build([sampleEvent(kind)], config, sampleContext())).toHaveProperty('skip');
    }
  });

  test.each(HOSTILE_TEXTS)('sends hostile text as a plain value: %j', (text) => {
    const event = sampleEvent('customer.milestone', { totalUsd: text });
    expect(builtJson(hubspot, config, event).inputs[0].properties.x402_total_usd).toBe(text);
  });
});

describe('a HubSpot account without the properties', () => {
  test('first gets the properties and then the contact', () => {
    const { outcome, steps, requests } = drive(
      hubspot,
      config,
      [first],
      (_request, index) =>
        [unknownProperty, vendorResponse(201, { status: 'COMPLETE' }), written][index] ?? vendorResponse(500),
    );
    expect(steps).toEqual(['upsert', 'create-properties', 'upsert-again']);
    expect(requests[1]).toMatchObject({
      method: 'POST',
      url: 'https://api.hubapi.com/crm/properties/2026-03/contacts/batch/create',
    });
    expect(JSON.parse(requests[1]?.body ?? '').inputs[0]).toEqual({
      name: 'x402_wallet',
      label: 'x402 wallet',
      type: 'string',
      fieldType: 'text',
      hasUniqueValue: true,
      groupName: 'contactinformation',
    });
    expect(requests[2]?.body).toBe(requests[0]?.body);
    expect(outcome.kind).toBe('delivered');
  });

  test('pauses the connector if the properties are still missing after one retry', () => {
    const { outcome, steps } = drive(hubspot, config, [first], (request) =>
      request.step === 'create-properties'
        ? vendorResponse(207, { status: 'COMPLETE', numErrors: 5 })
        : unknownProperty,
    );
    expect(steps).toHaveLength(3);
    expect(outcome).toMatchObject({ kind: 'pause', reason: expect.stringContaining('Create them') });
  });

  test("pauses the connector if the token can't create properties", () => {
    const { outcome } = drive(hubspot, config, [first], (request) =>
      request.step === 'upsert'
        ? unknownProperty
        : vendorResponse(403, { category: 'MISSING_SCOPES', message: 'scopes' }),
    );
    expect(outcome.kind).toBe('pause');
  });
});

describe('reading HubSpot responses', () => {
  test.each([
    ['a written contact', written, 'delivered'],
    ['207 with a rejected value', partial('VALIDATION_ERROR'), 'drop'],
    ['207 with a conflict', partial('CONFLICT'), 'retry'],
    ['207 with a rate limit', partial('RATE_LIMITS'), 'retry'],
    [
      '200 with an error count',
      vendorResponse(200, { numErrors: 1, errors: [{ category: 'VALIDATION_ERROR' }] }),
      'drop',
    ],
    ['a rejected value', vendorResponse(400, { category: 'VALIDATION_ERROR', message: 'bad' }), 'drop'],
    ['an expired token', vendorResponse(401, { category: 'INVALID_AUTHENTICATION', message: 'expired' }), 'pause'],
    ['a missing scope', vendorResponse(403, { category: 'MISSING_SCOPES', message: 'scopes' }), 'pause'],
    ['a locked account', vendorResponse(423), 'retry'],
    ['an account that is being migrated', vendorResponse(477), 'retry'],
    ['429', vendorResponse(429, { policyName: 'TEN_SECONDLY_ROLLING' }), 'retry'],
    ['502', vendorResponse(502), 'retry'],
    ['a removed path', vendorResponse(404, '<html>'), 'disable'],
    ['a redirect', vendorResponse(302), 'drop'],
  ])('classifies %s', (_case, response, kind) => {
    expect(classify(response).kind).toBe(kind);
  });

  test('retries a conflict only once', () => {
    const conflict = vendorResponse(409, { category: 'CONFLICT', message: 'conflict' });
    expect(classify(conflict).kind).toBe('retry');
    expect(classify(conflict, { attemptNumber: 2 }).kind).toBe('drop');
  });

  test('waits ten seconds for the burst limit and an hour for the daily limit', () => {
    expect(classify(vendorResponse(429, { policyName: 'TEN_SECONDLY_ROLLING' }))).toMatchObject({ afterSeconds: 10 });
    expect(classify(vendorResponse(429, { policyName: 'DAILY' }))).toMatchObject({ afterSeconds: 3600 });
    expect(classify(vendorResponse(429, {}, { 'retry-after': '7' }))).toMatchObject({ afterSeconds: 7 });
  });

  test('never reveals the token', () => {
    const response = vendorResponse(400, { category: 'VALIDATION_ERROR', message: 'token pat-eu1-secret is odd' });
    expect(JSON.stringify(classify(response))).not.toContain('pat-eu1-secret');
  });
});

describe('the HubSpot config', () => {
  test.each([
    [{}, true],
    [{ accessToken: '' }, false],
    [{ accessToken: 'two words' }, false],
    [{ accessToken: undefined }, false],
    [{ accessToken: 7 }, false],
    [{ portalId: '1' }, false],
  ])('with %j is accepted: %s', (change, isGood) => {
    expect(accepts(hubspot, { ...config, ...change })).toBe(isGood);
  });
});

describe('the HubSpot probe', () => {
  const probe = (response: ReturnType<typeof vendorResponse>) => hubspot.probe?.classify(response, config, 'send');

  test('reads the wallet property', () => {
    expect(hubspot.probe?.build(config)).toMatchObject({
      method: 'GET',
      url: 'https://api.hubapi.com/crm/properties/2026-03/contacts/x402_wallet',
    });
  });

  test('accepts a token if the property is missing, but not after a 401', () => {
    expect(probe(vendorResponse(200, { name: 'x402_wallet' }))).toMatchObject({ ok: true });
    expect(probe(vendorResponse(404, { message: 'Property does not exist' }))).toMatchObject({ ok: true });
    expect(probe(vendorResponse(401, { message: 'expired' }))).toMatchObject({ ok: false });
    expect(probe(vendorResponse(403, { category: 'MISSING_SCOPES' }))).toMatchObject({ ok: false });
  });
});
