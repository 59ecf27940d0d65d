import { describe, expect, test } from 'vitest';
import { gsmLength } from '../../../src/connectors/types/gsm-text.ts';
import { twilio } from '../../../src/connectors/types/twilio.ts';
import { EVENT_TYPES } from '../../../src/events/types.ts';
import { hostileEvent } from '../support/hostile.ts';
import {
  accepts,
  classifyContext,
  HOSTILE_TEXTS,
  requestOf,
  sampleContext,
  sampleEvent,
  testEvent,
  vendorResponse,
} from '../support/samples.ts';

const accountSid = 'AC0123456789abcdef0123456789abcdef';
const config = { accountSid, authToken: 't0ken', from: '+15005550006', to: '+15558675310' };
const settled = sampleEvent('payment.settled');
const base = `https://api.twilio.com/2010-04-01/Accounts/${accountSid}`;
const authorization = `Basic ${Buffer.from(`${accountSid}:t0ken`).toString('base64')}`;

const apiKeySid = 'SK0123456789abcdef0123456789abcdef';
const withKey = { accountSid, apiKeySid, apiKeySecret: 'k3ysecret', from: config.from, to: config.to };
const keyAuthorization = `Basic ${Buffer.from(`${apiKeySid}:k3ysecret`).toString('base64')}`;

const formOf = (event = settled, settings = config, context = sampleContext()) =>
  Object.fromEntries(new URLSearchParams(requestOf(twilio.build([event], settings, context)).body));

describe('a Twilio request', () => {
  test('sends one short SMS with the amount and the event ID', () => {
    const request = requestOf(twilio.build([settled], config, sampleContext()));
    expect(request).toMatchObject({
      method: 'POST',
      url: `${base}/Messages.json`,
      headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' },
      step: 'send',
    });
    expect(request.body).toContain('To=%2B15558675310&From=%2B15005550006&');
    expect(formOf()).toEqual({
      To: '+15558675310',
      From: '+15005550006',
      Body: 'Payment settled: 0.01 USDC\nevt_01jc9x2v5qe3w8k4m6n7p9r0st',
      ValidityPeriod: '14400',
    });
  });

  test('sends through a messaging service if it is the sender', () => {
    const form = formOf(settled, { ...config, from: 'MG0123456789abcdef0123456789abcdef' });
    expect(form).toMatchObject({ MessagingServiceSid: 'MG0123456789abcdef0123456789abcdef' });
    expect(form).not.toHaveProperty('From');
  });

  test('signs in with an API key, with the account only in the URL', () => {
    const expected = { url: `${base}/Messages.json`, headers: { authorization: keyAuthorization } };
    expect(requestOf(twilio.build([settled], withKey, sampleContext()))).toMatchObject(expected);
    const withBoth = { ...withKey, authToken: 't0ken' };
    expect(requestOf(twilio.build([settled], withBoth, sampleContext()))).toMatchObject(expected);
  });

  test("sends to the account's region", () => {
    const request = requestOf(twilio.build([settled], { ...config, region: 'ie1' }, sampleContext()));
    expect(request.url).toMatch(/^https:\/\/api\.dublin\.ie1\.twilio\.com\/2010-04-01\//);
  });

  test('adds the amount if the title has none', () => {
    expect(formOf(sampleEvent('payment.failed')).Body).toMatch(/^Payment failed: insufficient funds, 0\.01 USDC\n/);
  });

  test("adds the link if it fits, and the event ID if the link doesn't contain it", () => {
    const linkTo = (consoleUrl: string) => formOf(settled, config, sampleContext({ consoleUrl })).Body;
    expect(linkTo(`https://c.example/events/${settled.id}`)).toBe(
      `Payment settled: 0.01 USDC\nhttps://c.example/events/${settled.id}`,
    );
    const longLink = `https://tollgate.example/console/projects/proj_01jc9x2v5qe3w8k4m6n7p9r0st/events/${settled.id}`;
    expect(linkTo(longLink)).toBe(`Payment settled: 0.01 USDC\n${longLink}`);
    expect(linkTo('https://c.example/e/1')).toBe(`Payment settled: 0.01 USDC\nhttps://c.example/e/1\n${settled.id}`);
    expect(linkTo(`https://c.example/${'x'.repeat(150)}`)).toBe(`Payment settled: 0.01 USDC\n${settled.id}`);
  });

  test.each(EVENT_TYPES)('sends %s in a single segment', (eventType) => {
    expect(twilio.supportsEvent(eventType, new Set())).toBe(true);
    expect(gsmLength(formOf(sampleEvent(eventType)).Body!)).toBeLessThanOrEqual(160);
    expect(formOf(sampleEvent(eventType)).Body).toMatch(/\nevt_01jc9x2v5qe3w8k4m6n7p9r0st$/);
  });

  test('marks a test event', () => {
    expect(formOf(testEvent()).Body).toMatch(/^\[Test\] Payment settled/);
  });

  test.each(EVENT_TYPES)('fits %s into one 7-bit SMS segment, no matter what text it contains', (eventType) => {
    for (const text of HOSTILE_TEXTS) {
      const { Body } = formOf(hostileEvent(eventType, text), config, sampleContext({ projectName: text }));
      expect(gsmLength(Body!)).toBeLessThanOrEqual(160);
      expect(Body).toMatch(/^[\x20-\x5f\x61-\x7e]+\nevt_01jc9x2v5qe3w8k4m6n7p9r0st$/);
    }
  });
});

describe('reading Twilio responses', () => {
  const context = classifyContext(config, settled);
  const refused = (code: number) => ({ code, message: `About ${config.authToken}`, status: 400 });

  test.each([
    [201, { sid: 'SM1', status: 'queued', error_code: null }, 'delivered'],
    [201, { sid: 'SM1', status: 'accepted' }, 'delivered'],
    [201, { sid: 'SM1', status: 'failed', error_code: 30007 }, 'drop'],
    [201, { sid: 'SM1', status: 'failed', error_code: 21610 }, 'pause'],
    [201, { sid: 'SM1', status: 'queued', error_code: 30005 }, 'drop'],
    [400, refused(21211), 'pause'],
    [400, refused(21610), 'pause'],
    [400, refused(21614), 'pause'],
    [400, refused(21212), 'pause'],
    [400, refused(21408), 'pause'],
    [400, refused(21606), 'pause'],
    [400, refused(21608), 'pause'],
    [400, refused(21659), 'pause'],
    [400, refused(21617), 'drop'],
    [401, refused(20003), 'pause'],
    [403, refused(20008), 'pause'],
    [403, refused(20003), 'pause'],
    [403, refused(20005), 'pause'],
    [403, refused(70051), 'pause'],
    [404, refused(20404), 'pause'],
    [400, refused(21611), 'retry'],
    [400, refused(21612), 'pause'],
    [400, refused(21703), 'pause'],
    [201, { sid: 'SM1', status: 'failed', error_code: 30034 }, 'pause'],
    [429, refused(20429), 'retry'],
    [503, refused(20503), 'retry'],
    [200, '<html>', 'next'],
    [201, '<html>', 'next'],
    [302, '', 'drop'],
  ])('classifies %i %j as %s', (statusCode, body, kind) => {
    const outcome = twilio.classify(vendorResponse(statusCode, body), context);
    expect(outcome.kind).toBe(kind);
    expect(JSON.stringify(outcome)).not.toContain(config.authToken);
  });

  test.each([
    [config, 401, 20003, /rejected the account SID and auth token.*20003/],
    [withKey, 401, 20003, /rejected the API key\. Check its SID and secret/],
    [config, 403, 20003, /doesn't let this auth token create messages.*account is active/],
    [withKey, 403, 20003, /API key can't create messages\. Allow it to create and read messages.*20003/],
    [withKey, 403, 70051, /API key can't create messages\. Allow it.*70051/],
    [withKey, 404, 20404, /can't find the account\. Check the account SID and the region/],
    [config, 403, 20005, /account isn't active/],
    [config, 403, 20008, /test credentials/],
    [withKey, 429, 20429, /rate limiting requests.*20429/],
  ])('explains %j %i %i in its own words', (settings, statusCode, code, reason) => {
    const outcome = twilio.classify(vendorResponse(statusCode, refused(code)), classifyContext(settings, settled));
    expect(outcome).toMatchObject({ reason: expect.stringMatching(reason) });
    expect('reason' in outcome && outcome.reason!.length).toBeLessThanOrEqual(200);
  });

  test('waits as long as Twilio asks', () => {
    expect(twilio.classify(vendorResponse(429, '', { 'retry-after': '3' }), context)).toMatchObject({
      afterSeconds: 3,
    });
  });
});

describe('an SMS that may already have been sent', () => {
  const ambiguous = classifyContext(config, settled, { previousAttemptAmbiguous: true, attemptNumber: 2 });
  const list = (...bodies: string[]) => vendorResponse(200, { messages: bodies.map((body) => ({ sid: 'SM1', body })) });
  const sentBody = `Sent from your Twilio trial account - ${formOf().Body}`;

  test('is looked up before it is sent again', () => {
    expect(twilio.build([settled], config, ambiguous)).toEqual({
      method: 'GET',
      url: `${base}/Messages.json?To=%2B15558675310&PageSize=100`,
      headers: { authorization },
      maxResponseBytes: 1_048_576,
      step: 'lookup',
    });
  });

  test('is found in a list of a hundred messages, which must be read completely', () => {
    const uri = `/2010-04-01/Accounts/${accountSid}/Messages/SM${'0'.repeat(32)}`;
    const date = 'Thu, 24 Aug 2023 05:01:45 +0000';
    const message = {
      account_sid: accountSid,
      api_version: '2010-04-01',
      body: 'x'.repeat(160),
      date_created: date,
      date_sent: date,
      date_updated: date,
      direction: 'outbound-api',
      error_code: null,
      error_message: null,
      from: config.from,
      messaging_service_sid: null,
      num_media: '0',
      num_segments: '1',
      price: null,
      price_unit: null,
      sid: `SM${'0'.repeat(32)}`,
      status: 'delivered',
      subresource_uris: { media: `${uri}/Media.json` },
      to: config.to,
      uri: `${uri}.json`,
    };
    const body = JSON.stringify({ messages: [...Array(99).fill(message), { ...message, body: sentBody }] });
    const limit = requestOf(twilio.build([settled], config, ambiguous)).maxResponseBytes ?? 65_536;
    const response = { ...vendorResponse(200), body: body.slice(0, limit) };
    expect(twilio.classify(response, { ...ambiguous, step: 'lookup' }).kind).toBe('delivered');
  });

  test('counts as delivered if it is found', () => {
    expect(twilio.classify(list('other', sentBody), { ...ambiguous, step: 'lookup' }).kind).toBe('delivered');
  });

  test("is sent again unchanged if it isn't found", () => {
    expect(twilio.classify(list('other'), { ...ambiguous, step: 'lookup' })).toEqual({
      kind: 'next',
      request: twilio.build([settled], config, sampleContext()),
    });
  });

  test.each([500, 502, 504])('is looked up after a %i', (statusCode) => {
    const outcome = twilio.classify(vendorResponse(statusCode, { code: 20500 }), classifyContext(config, settled));
    expect(outcome).toMatchObject({ kind: 'next', request: { method: 'GET', step: 'lookup after error' } });
    const looking = { ...ambiguous, step: 'lookup after error' };
    expect(twilio.classify(list(sentBody), looking).kind).toBe('delivered');
    expect(twilio.classify(list(), looking).kind).toBe('retry');
  });

  test.each([
    [200, '<html>', 'retry'],
    [401, { code: 20003 }, 'pause'],
    [429, '', 'retry'],
    [500, '', 'retry'],
  ])('waits if the list returns %i %j', (statusCode, body, kind) => {
    expect(twilio.classify(vendorResponse(statusCode, body), { ...ambiguous, step: 'lookup' }).kind).toBe(kind);
  });
});

describe('the Twilio config', () => {
  test.each([
    [{}, true],
    [{ from: 'MG0123456789abcdef0123456789abcdef' }, true],
    [{ from: 'Tollgate' }, true],
    [{ from: '12345' }, true],
    [{ region: 'ie1' }, true],
    [{ from: 'A name far too long' }, false],
    [{ from: '0123456789012' }, false],
    [{ from: 'Ünïcode' }, false],
    [{ to: '5558675310' }, false],
    [{ to: '+0123456789' }, false],
    [{ to: '+1 555 867 5310' }, false],
    [{ to: ['+15558675310'] }, false],
    [{ accountSid: 'SK0123456789abcdef0123456789abcdef' }, false],
    [{ accountSid: `${accountSid}/../x` }, false],
    [{ apiKeySid, apiKeySecret: 's' }, true],
    [{ authToken: undefined, apiKeySid, apiKeySecret: 's' }, true],
    [{ authToken: undefined }, false],
    [{ apiKeySid }, false],
    [{ apiKeySecret: 's' }, false],
    [{ apiKeySid: accountSid, apiKeySecret: 's' }, false],
    [{ authToken: '' }, false],
    [{ authToken: 'a b' }, false],
    [{ region: 'mars' }, false],
    [{ body: 'x' }, false],
  ])('accepts %j: %s', (change, isAccepted) => {
    expect(accepts(twilio, { ...config, ...change })).toBe(isAccepted);
  });
});

describe('the Twilio probe', () => {
  test("reads a message if there is an API key, because most keys can't read the account", () => {
    const request = twilio.probe!.build(withKey);
    expect(request).toMatchObject({ method: 'GET', headers: { authorization: keyAuthorization }, step: 'messages' });
    expect(request.url).toBe(`${base}/Messages.json?To=%2B15558675310&PageSize=1`);
    const probed = (statusCode: number, body: object) =>
      twilio.probe!.classify(vendorResponse(statusCode, body), withKey, 'messages');
    expect(probed(200, { messages: [] })).toMatchObject({ ok: true });
    for (const code of [20003, 70051]) {
      expect(probed(403, { code })).toEqual({
        ok: false,
        message: expect.stringMatching(/API key can't read messages\. Allow it to create and read messages/),
      });
    }
    expect(probed(401, { code: 20003 })).toMatchObject({ ok: false });
  });

  test('reads the account', () => {
    expect(twilio.probe!.build(config)).toMatchObject({
      method: 'GET',
      url: `${base}.json`,
      headers: { authorization },
    });
  });

  test.each([
    [200, { status: 'active' }, true],
    [200, { status: 'suspended' }, false],
    [200, '<html>', false],
    [401, { code: 20003 }, false],
    [403, { code: 20008 }, false],
  ])('turns %i %j into ok: %s', (statusCode, body, ok) => {
    expect(twilio.probe!.classify(vendorResponse(statusCode, body), config, 'send')).toMatchObject({ ok });
  });
});
