import { describe, expect, test } from 'vitest';
import { hubspot } from '../../../src/connectors/types/hubspot.ts';
import { EVENT_TYPES } from '../../../src/events/types.ts';
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
const named = vendorResponse(200, { id: '101', properties: { firstname: 'Wallet' } });
const updated = vendorResponse(200, { status: 'COMPLETE', results: [{ id: '101', new: false }] });
const property = (hasUniqueValue?: boolean) => vendorResponse(200, { name: 'x402_wallet', hasUniqueValue });
const notUnique = vendorResponse(400, {
  status: 'error',
  message: 'Unable to perform update/upsert by non-unique 0-1 property x402_wallet in portal ID 21939747',
  category: 'VALIDATION_ERROR',
});
/** Responds according to the step, and with 500 to all other steps. */
const portal =
  (answers: Record<string, ReturnType<typeof vendorResponse>>) =>
  ({ step = '' }: { step?: string }) =>
    answers[step] ?? vendorResponse(500);
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
  test('upserts the contact for a first payment by its wallet, without a total', () => {
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
    const supported = EVENT_TYPES.filter((eventType) => hubspot.supportsEvent(eventType, new Set(EVENT_TYPES)));
    expect(supported).toEqual(['customer.first_payment', 'customer.milestone']);
    for (const eventType of EVENT_TYPES) {
      expect(hubspot.build([testEvent(eventType)], config, sampleContext())).toHaveProperty('skip');
      if (supported.includes(eventType)) continue;
      expect(hubspot.build([sampleEvent(eventType)], config, sampleContext())).toHaveProperty('skip');
    }
  });

  test.each(HOSTILE_TEXTS)('sends hostile text as a plain value: %j', (text) => {
    const event = sampleEvent('customer.milestone', { totalUsd: text });
    expect(builtJson(hubspot, config, event).inputs[0].properties.x402_total_usd).toBe(text);
  });
});

describe('a HubSpot account without the properties', () => {
  test('gets the missing properties before the contact', () => {
    const { outcome, steps, requests } = drive(
      hubspot,
      config,
      [first],
      (_request, index) =>
        [unknownProperty, vendorResponse(201, { status: 'COMPLETE' }), written, named][index] ?? vendorResponse(500),
    );
    expect(steps).toEqual(['upsert', 'create-properties', 'upsert-again', 'name']);
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

describe("a HubSpot property that doesn't require unique values", () => {
  test('pauses the connector at the first contact, and says exactly what to do', () => {
    const { outcome, steps } = drive(hubspot, config, [first], portal({ upsert: notUnique, check: property(false) }));
    expect(steps).toEqual(['upsert', 'check']);
    expect(outcome).toEqual({
      kind: 'pause',
      reason: expect.stringMatching(/x402_wallet doesn't require unique values\. .* save this connector/),
    });
  });

  test('is found even if the connector has just created the other properties', () => {
    const answers = { upsert: unknownProperty, 'create-properties': vendorResponse(207), 'upsert-again': notUnique };
    const { outcome, steps } = drive(hubspot, config, [first], portal({ ...answers, 'check-again': property(false) }));
    expect(steps).toEqual(['upsert', 'create-properties', 'upsert-again', 'check-again']);
    expect(outcome).toMatchObject({ kind: 'pause', reason: expect.stringContaining("doesn't require unique values") });
  });

  test("isn't blamed for a value that HubSpot rejects", () => {
    const bad = vendorResponse(400, { category: 'VALIDATION_ERROR', message: 'bad wallet' });
    const answers = { upsert: bad, check: property(true), 'upsert-last': bad };
    const { outcome, steps } = drive(hubspot, config, [first], portal(answers));
    expect(steps).toEqual(['upsert', 'check', 'upsert-last']);
    expect(outcome).toEqual({ kind: 'drop', reason: 'HubSpot rejected the event (HTTP 400): bad wallet' });
  });

  test.each([
    ["can't be read with the token", vendorResponse(403), ['upsert', 'check', 'upsert-last'], 'drop'],
    ["can't be read right now", vendorResponse(502), ['upsert', 'check'], 'retry'],
    ["can't be read after the token expired", vendorResponse(401), ['upsert', 'check'], 'pause'],
  ])('is left alone if it %s', (_what, check, expected, kind) => {
    const { outcome, steps } = drive(
      hubspot,
      config,
      [first],
      portal({ upsert: notUnique, check, 'upsert-last': notUnique }),
    );
    expect(steps).toEqual(expected);
    expect(outcome.kind).toBe(kind);
  });

  test('is created if it was deleted, but only once', () => {
    const created = { 'create-properties': vendorResponse(201), 'upsert-again': notUnique };
    const { outcome, steps } = drive(
      hubspot,
      config,
      [first],
      portal({ upsert: notUnique, check: vendorResponse(404), ...created, 'check-again': vendorResponse(404) }),
    );
    expect(steps).toEqual(['upsert', 'check', 'create-properties', 'upsert-again', 'check-again']);
    expect(outcome).toMatchObject({ kind: 'pause', reason: expect.stringContaining('properties are missing') });
  });
});

describe('the name of a HubSpot contact', () => {
  test('is the short form of the wallet, and is set only when the contact is new', () => {
    const { outcome, steps, requests, memory } = drive(
      hubspot,
      config,
      [first],
      portal({ upsert: written, name: named }),
    );
    expect(steps).toEqual(['upsert', 'name']);
    expect(requests[1]).toMatchObject({
      method: 'PATCH',
      url: 'https://api.hubapi.com/crm/objects/2026-03/contacts/101',
      body: JSON.stringify({ properties: { firstname: 'Wallet', lastname: '0x1f98…f984' } }),
    });
    expect(outcome.kind).toBe('delivered');
    expect(memory).toEqual({ [`unnamed:${wallet}`]: '' });
    expect(drive(hubspot, config, [milestone], portal({ upsert: updated })).steps).toEqual(['upsert']);
  });

  test('is set by the next attempt if HubSpot is busy', () => {
    const busy = drive(hubspot, config, [first], portal({ upsert: written, name: vendorResponse(503) }));
    expect(busy.outcome.kind).toBe('retry');
    const later = drive(hubspot, config, [first], portal({ upsert: updated, name: named }), { memory: busy.memory });
    expect(later.steps).toEqual(['upsert', 'name']);
    expect(later.outcome.kind).toBe('delivered');
  });

  test('may be rejected without failing the delivery, because the contact was written', () => {
    const rejected = vendorResponse(400, { category: 'VALIDATION_ERROR', message: 'no' });
    expect(drive(hubspot, config, [first], portal({ upsert: written, name: rejected })).outcome).toMatchObject({
      kind: 'delivered',
      note: "HubSpot didn't accept a name for the contact.",
    });
  });
});

describe('reading HubSpot responses', () => {
  test.each([
    ['a contact that existed', updated, 'delivered'],
    ['a new contact, which gets a name', written, 'next'],
    ['207 with a rejected value, which leads to a check', partial('VALIDATION_ERROR'), 'next'],
    ['207 with a conflict', partial('CONFLICT'), 'retry'],
    ['207 with a rate limit', partial('RATE_LIMITS'), 'retry'],
    [
      '200 with an error count',
      vendorResponse(200, { numErrors: 1, errors: [{ category: 'VALIDATION_ERROR' }] }),
      'next',
    ],
    ['a rejected value', vendorResponse(400, { category: 'VALIDATION_ERROR', message: 'bad' }), 'next'],
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

  test.each([
    ['207 with a rejected value', partial('VALIDATION_ERROR', 'bad wallet')],
    ['a rejected value', vendorResponse(400, { category: 'VALIDATION_ERROR', message: 'bad wallet' })],
  ])('drops %s after the property has been checked', (_case, response) => {
    expect(classify(response, { step: 'upsert-last' })).toMatchObject({
      kind: 'drop',
      reason: expect.stringContaining('bad wallet'),
    });
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
    expect(JSON.stringify(classify(response, { step: 'upsert-last' }))).not.toContain('pat-eu1-secret');
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
  ])('accepts %j: %s', (change, isGood) => {
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
    expect(probe(property(true))).toMatchObject({ ok: true });
    expect(probe(property(false))).toMatchObject({
      ok: false,
      message: expect.stringContaining("doesn't require unique values"),
    });
    expect(probe(vendorResponse(404, { message: 'Property does not exist' }))).toMatchObject({ ok: true });
    expect(probe(vendorResponse(401, { message: 'expired' }))).toMatchObject({ ok: false });
    expect(probe(vendorResponse(403, { category: 'MISSING_SCOPES' }))).toMatchObject({ ok: false });
  });
});
