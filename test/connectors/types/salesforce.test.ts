import { describe, expect, test } from 'vitest';
import { salesforce } from '../../../src/connectors/types/salesforce.ts';
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

const config = { instanceUrl: 'https://acme.my.salesforce.com', accessToken: '00D5g!AQEAQ.token' };
const settled = sampleEvent('payment.settled');
const classify = (response: ReturnType<typeof vendorResponse>) =>
  salesforce.classify(response, classifyContext(config, settled));
const errors = (statusCode: number, errorCode: string, message = 'Some message') =>
  vendorResponse(statusCode, [{ errorCode, message, fields: [] }]);

describe('a Salesforce request', () => {
  test('upserts one record by the event ID', () => {
    const request = requestOf(salesforce.build([settled], config, sampleContext()));
    expect(request).toMatchObject({
      method: 'PATCH',
      url: 'https://acme.my.salesforce.com/services/data/v66.0/sobjects/X402_Event__c/Event_Id__c/evt_01jc9x2v5qe3w8k4m6n7p9r0st',
      headers: { authorization: 'Bearer 00D5g!AQEAQ.token', 'content-type': 'application/json' },
    });
    expect(JSON.parse(request.body ?? '')).toEqual({
      Kind__c: 'payment.settled',
      Occurred_At__c: '2026-01-02T03:04:05.678Z',
      Payment_Id__c: 'pay_01jc9x2v5qe3w8k4m6n7p9r0st',
      Endpoint__c: 'ep_01jc9x2v5qe3w8k4m6n7p9r0st',
      Customer__c: '0x1f98431c8ad98523631ae4a59f267346ea31f984',
      Amount_USD__c: 0.01,
      Tx_Hash__c: `0x${'5e'.repeat(32)}`,
      Payload__c: JSON.stringify(settled.data),
    });
  });

  test.each(EVENT_TYPES)('sends %s', (eventType) => {
    expect(salesforce.supportsEvent(eventType, new Set([eventType]))).toBe(true);
    expect(builtJson(salesforce, config, sampleEvent(eventType)).Kind__c).toBe(eventType);
  });

  test('marks a test event and omits its amount', () => {
    expect(builtJson(salesforce, config, testEvent())).toMatchObject({
      Kind__c: 'test.payment.settled',
      Amount_USD__c: null,
    });
  });

  test.each(HOSTILE_TEXTS)('fits hostile text into the long text field as JSON: %j', (text) => {
    const topEndpoints = Array.from({ length: 10 }, () => ({
      endpointId: 'ep',
      path: text,
      totalUsd: '1',
      paymentCount: 1,
    }));
    for (const event of [
      sampleEvent('payment.failed', { message: text }),
      sampleEvent('revenue.daily_summary', { topEndpoints }),
    ]) {
      const payload: string = builtJson(salesforce, config, event).Payload__c;
      expect(payload.length).toBeLessThanOrEqual(32_000);
      expect(Object.keys(JSON.parse(payload))).toEqual(Object.keys(event.data));
    }
  });
});

describe('reading Salesforce responses', () => {
  test.each([
    ['a created record', vendorResponse(201, { id: 'a01', success: true, errors: [], created: true }), 'delivered'],
    ['an updated record', vendorResponse(200, { id: 'a01', success: true, errors: [], created: false }), 'delivered'],
    ['204', vendorResponse(204), 'delivered'],
    [
      '200 without success',
      vendorResponse(200, { success: false, errors: [{ statusCode: 'X', message: 'no' }] }),
      'drop',
    ],
    ['several records with one id', vendorResponse(300, ['/a', '/b']), 'pause'],
    ['a missing field', errors(400, 'INVALID_FIELD', "No such column 'Kind__c'"), 'pause'],
    ['an organization without storage left', errors(400, 'STORAGE_LIMIT_EXCEEDED'), 'pause'],
    ["a required field of the customer's own", errors(400, 'REQUIRED_FIELD_MISSING'), 'drop'],
    ['a validation rule', errors(400, 'FIELD_CUSTOM_VALIDATION_EXCEPTION'), 'drop'],
    ['a locked row', errors(400, 'UNABLE_TO_LOCK_ROW'), 'retry'],
    ['two concurrent writes with one id', errors(400, 'DUPLICATE_VALUE'), 'retry'],
    ['a session that has ended', errors(401, 'INVALID_SESSION_ID'), 'pause'],
    ['the daily limit', errors(403, 'REQUEST_LIMIT_EXCEEDED'), 'retry'],
    ['a missing permission', errors(403, 'INSUFFICIENT_ACCESS_OR_READONLY'), 'pause'],
    ['an API that is turned off', errors(403, 'API_DISABLED_FOR_ORG'), 'pause'],
    ['a missing object', errors(404, 'NOT_FOUND', 'The requested resource does not exist'), 'pause'],
    ['429', vendorResponse(429), 'retry'],
    ['500', errors(500, 'UNKNOWN_EXCEPTION'), 'retry'],
    ['503', errors(503, 'SERVER_UNAVAILABLE'), 'retry'],
    ['a redirect to the login page', vendorResponse(302), 'drop'],
  ])('classifies %s', (_case, response, kind) => {
    expect(classify(response).kind).toBe(kind);
  });

  test('waits an hour for the daily limit', () => {
    expect(classify(errors(403, 'REQUEST_LIMIT_EXCEEDED'))).toMatchObject({ afterSeconds: 3600 });
  });

  test('never reveals the token', () => {
    for (const response of [errors(400, 'INVALID_FIELD', '00D5g!AQEAQ.token'), errors(400, 'X', '00D5g!AQEAQ.token')]) {
      expect(JSON.stringify(classify(response))).not.toContain('AQEAQ');
    }
  });
});

describe('the Salesforce config', () => {
  test.each([
    [{}, true],
    [{ instanceUrl: 'https://acme.my.salesforce.com/' }, true],
    [{ instanceUrl: 'https://acme--dev.sandbox.my.salesforce.com' }, true],
    [{ instanceUrl: 'https://acme-dev-ed.develop.my.salesforce.com' }, true],
    [{ instanceUrl: 'https://acme.my.salesforce.mil' }, true],
    [{ instanceUrl: 'https://login.salesforce.com' }, false],
    [{ instanceUrl: 'https://test.salesforce.com' }, false],
    [{ instanceUrl: 'https://acme.lightning.force.com' }, false],
    [{ instanceUrl: 'https://my.salesforce.com' }, false],
    [{ instanceUrl: 'https://acme.my.salesforce.com.evil.example' }, false],
    [{ instanceUrl: 'https://evil.example/?x=.my.salesforce.com' }, false],
    [{ instanceUrl: 'https://acme.my.salesforce.com:444' }, false],
    [{ instanceUrl: 'https://acme.my.salesforce.com/services' }, false],
    [{ instanceUrl: 'https://u:p@acme.my.salesforce.com' }, false],
    [{ instanceUrl: 'http://acme.my.salesforce.com' }, false],
    [{ accessToken: 'a b' }, false],
    [{ accessToken: undefined }, false],
    [{ object: 'Task' }, false],
  ])('accepts %j: %s', (change, isGood) => {
    expect(accepts(salesforce, { ...config, ...change })).toBe(isGood);
  });
});

describe('the Salesforce probe', () => {
  const names = ['Kind__c', 'Occurred_At__c', 'Payment_Id__c', 'Endpoint__c', 'Customer__c', 'Amount_USD__c'];
  const fields = [...names, 'Tx_Hash__c', 'Payload__c'].map((name) => ({ name, createable: true }));
  const idField = { name: 'Event_Id__c', createable: true, externalId: true, unique: true };
  const probe = (response: ReturnType<typeof vendorResponse>) => salesforce.probe?.classify(response, config, 'send');

  test('describes the object', () => {
    expect(salesforce.probe?.build(config)).toMatchObject({
      method: 'GET',
      url: 'https://acme.my.salesforce.com/services/data/v66.0/sobjects/X402_Event__c/describe',
    });
  });

  test('reports which field is missing, read-only, or not unique', () => {
    expect(probe(vendorResponse(200, { fields: [...fields, idField] }))).toMatchObject({ ok: true });
    expect(probe(vendorResponse(200, { fields }))).toMatchObject({
      ok: false,
      message: expect.stringContaining('Event_Id__c'),
    });
    expect(probe(vendorResponse(200, { fields: [...fields.slice(1), idField] }))).toMatchObject({
      ok: false,
      message: expect.stringContaining('Kind__c'),
    });
    expect(probe(vendorResponse(200, { fields: [...fields, { ...idField, unique: false }] }))).toMatchObject({
      ok: false,
      message: 'Event_Id__c must be marked as External ID and Unique.',
    });
  });

  test('accepts a description that was cut off', () => {
    expect(probe(vendorResponse(200, '{"fields":[{"name":"Kind__'))).toMatchObject({ ok: true });
  });

  test('distinguishes a missing object from an expired session', () => {
    expect(probe(errors(404, 'NOT_FOUND'))).toMatchObject({
      ok: false,
      message: expect.stringContaining('X402_Event__c'),
    });
    expect(probe(errors(401, 'INVALID_SESSION_ID'))).toMatchObject({
      ok: false,
      message: expect.stringContaining('save a new one'),
    });
    const app = { ...config, clientId: 'c', clientSecret: 's' };
    expect(salesforce.probe?.classify(errors(401, 'INVALID_SESSION_ID'), app, 'send')).toMatchObject({
      message: expect.stringContaining('Check the app and its user in Salesforce'),
    });
  });
});
