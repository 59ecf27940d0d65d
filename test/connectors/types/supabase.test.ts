import { describe, expect, test } from 'vitest';
import { supabase } from '../../../src/connectors/types/supabase.ts';
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

const config = { url: 'https://abcdefghijklmnopqrst.supabase.co', apiKey: 'sb_secret_abc123' };
const settled = sampleEvent('payment.settled');
const MISSING =
  "Supabase can't find the table. Create it as described in the documentation, or change the table name. Then resume the connector.";
const classify = (response: ReturnType<typeof vendorResponse>) =>
  supabase.classify(response, classifyContext(config, settled));
const refusal = (statusCode: number, code: string, message = 'Some message', details: string | null = null) =>
  vendorResponse(statusCode, { code, message, details, hint: null });

describe('a Supabase request', () => {
  test('inserts one row and ignores it if it already exists', () => {
    const request = requestOf(supabase.build([settled], config, sampleContext()));
    expect(request).toMatchObject({
      method: 'POST',
      url: 'https://abcdefghijklmnopqrst.supabase.co/rest/v1/payment_events?on_conflict=event_id',
      headers: {
        apikey: 'sb_secret_abc123',
        'content-type': 'application/json',
        prefer: 'resolution=ignore-duplicates,return=minimal',
      },
    });
    expect(JSON.parse(request.body ?? '')).toEqual({
      event_id: 'evt_01jc9x2v5qe3w8k4m6n7p9r0st',
      kind: 'payment.settled',
      occurred_at: '2026-01-02T03:04:05.678Z',
      payment_id: 'pay_01jc9x2v5qe3w8k4m6n7p9r0st',
      endpoint_id: 'ep_01jc9x2v5qe3w8k4m6n7p9r0st',
      customer: '0x1f98431c8ad98523631ae4a59f267346ea31f984',
      amount_usd: '0.01',
      currency: 'USD',
      network: 'eip155:84532',
      tx_hash: `0x${'5e'.repeat(32)}`,
      payload: settled.data,
    });
  });

  test('sends a key as authorization only if it is a legacy JWT', () => {
    const headersWith = (apiKey: string) =>
      requestOf(supabase.build([settled], { ...config, apiKey }, sampleContext())).headers;
    expect(headersWith('sb_secret_abc123')).not.toHaveProperty('authorization');
    expect(headersWith('eyJhbGciOi.abc.def')).toMatchObject({
      apikey: 'eyJhbGciOi.abc.def',
      authorization: 'Bearer eyJhbGciOi.abc.def',
    });
  });

  test('writes to the configured table', () => {
    const request = requestOf(supabase.build([settled], { ...config, table: 'sales' }, sampleContext()));
    expect(request.url).toContain('/rest/v1/sales?');
  });

  test.each(EVENT_TYPES)('sends %s', (eventType) => {
    const event = sampleEvent(eventType);
    expect(supabase.supportsEvent(eventType, new Set([eventType]))).toBe(true);
    expect(builtJson(supabase, config, event)).toMatchObject({ kind: eventType, payload: event.data });
  });

  test('marks a test event and omits its amount', () => {
    expect(builtJson(supabase, config, testEvent())).toMatchObject({
      kind: 'test.payment.settled',
      amount_usd: null,
      payload: { test: true },
    });
  });

  test.each(HOSTILE_TEXTS)('stores hostile text as data, without characters that PostgreSQL rejects: %j', (text) => {
    const row = builtJson(supabase, config, sampleEvent('payment.failed', { message: text }));
    expect(row.payload.message).toBe(text.replaceAll('\0', '').toWellFormed());
  });
});

describe('reading Supabase responses', () => {
  test.each([
    ['201', vendorResponse(201), 'delivered'],
    ['200', vendorResponse(200), 'delivered'],
    [
      'an event id that already exists',
      refusal(409, '23505', 'duplicate key', 'Key (event_id)=(evt_1) exists.'),
      'delivered',
    ],
    [
      'a conflict in another unique column',
      refusal(409, '23505', 'duplicate key', 'Key (tx_hash)=(0x5e) exists.'),
      'drop',
    ],
    ['no primary key', refusal(400, '42P10', 'there is no unique or exclusion constraint'), 'pause'],
    ['a missing column', refusal(400, 'PGRST204', "Could not find the 'tx_hash' column"), 'pause'],
    ['a missing grant', refusal(403, '42501', 'permission denied for table payment_events'), 'pause'],
    ['a missing grant with 401', refusal(401, '42501', 'permission denied for table payment_events'), 'pause'],
    ['an expired JWT', refusal(401, 'PGRST303', 'JWT expired'), 'pause'],
    ['a wrong key', vendorResponse(401, { message: 'Invalid API key' }), 'pause'],
    ['a value that the column rejects', refusal(400, '22P02', 'invalid input syntax'), 'drop'],
    ['a null that the column rejects', refusal(400, '23502', 'null value in column'), 'drop'],
    ['429', vendorResponse(429), 'retry'],
    ['500', refusal(500, '40001', 'could not serialize access'), 'retry'],
    ['503 without a database', refusal(503, 'PGRST001'), 'retry'],
    ['504', vendorResponse(504), 'retry'],
    ['a paused project', vendorResponse(540, 'Project paused'), 'pause'],
    ['a redirect', vendorResponse(301), 'drop'],
  ])('classifies %s', (_case, response, kind) => {
    expect(classify(response).kind).toBe(kind);
  });

  test('pauses if the table is missing, and says what to do', () => {
    const missing = refusal(404, 'PGRST205', "Could not find the table 'public.payment_events' in the schema cache");
    expect(classify(missing)).toEqual({ kind: 'pause', reason: MISSING });
  });

  test('says what to do without revealing the key', () => {
    expect(classify(refusal(400, '42P10', `no constraint, key sb_secret_abc123 ${'x'.repeat(900)}`))).toEqual({
      kind: 'pause',
      reason: expect.stringMatching(
        /^Make event_id the primary key of the table\. Supabase returned: no constraint, key ••••/,
      ),
    });
    const { reason } = classify(refusal(400, '22P02', 'x'.repeat(9000))) as { reason: string };
    expect(reason.length).toBeLessThanOrEqual(200);
  });
});

describe('the Supabase config', () => {
  test.each([
    ['https://abcdefghijklmnopqrst.supabase.co/', 'https://abcdefghijklmnopqrst.supabase.co'],
    ['https://abcdefghijklmnopqrst.supabase.co/rest/v1/', 'https://abcdefghijklmnopqrst.supabase.co'],
    ['https://supabase.shop.example:8443', 'https://supabase.shop.example:8443'],
    ['https://shop.example/supabase/', 'https://shop.example/supabase'],
    ['https://shop.example/supabase/rest/v1', 'https://shop.example/supabase'],
    ['https://shop.example/forrest/v1', 'https://shop.example/forrest/v1'],
  ])('sends to the API at %s', (url, base) => {
    const request = requestOf(supabase.build([sampleEvent('payment.settled')], { ...config, url }, sampleContext()));
    expect(request.url).toBe(`${base}/rest/v1/payment_events?on_conflict=event_id`);
  });

  test.each([
    [{}, true],
    [{ url: 'https://abcdefghijklmnopqrst.supabase.co/' }, true],
    [{ table: 'a_table_1' }, true],
    [{ url: 'http://abcdefghijklmnopqrst.supabase.co' }, false],
    [{ url: 'https://supabase.shop.example:8443' }, true],
    [{ url: 'https://abcdefghijklmnopqrst.supabase.co/rest/v1' }, true],
    [{ url: 'https://abcdefghijklmnopqrst.supabase.co?a=b' }, false],
    [{ url: 'https://user@abcdefghijklmnopqrst.supabase.co' }, false],
    [{ url: 'https://shop.example/supabase' }, true],
    [{ url: 'https://shop.example/#a' }, false],
    [{ url: 'shop.example' }, false],
    [{ table: 'a-b' }, false],
    [{ table: '1abc' }, false],
    [{ table: 'a?b=c' }, false],
    [{ table: '' }, false],
    [{ apiKey: 'a b' }, false],
    [{ apiKey: undefined }, false],
    [{ schema: 'public' }, false],
  ])('accepts %j: %s', (change, isGood) => {
    expect(accepts(supabase, { ...config, ...change })).toBe(isGood);
  });
});

describe('the Supabase probe', () => {
  const probe = (response: ReturnType<typeof vendorResponse>) => supabase.probe?.classify(response, config, 'send');

  test('reads no rows from the table', () => {
    expect(supabase.probe?.build(config)).toEqual({
      method: 'GET',
      url: 'https://abcdefghijklmnopqrst.supabase.co/rest/v1/payment_events?select=event_id&limit=0',
      headers: { apikey: 'sb_secret_abc123' },
    });
  });

  test('recognizes valid keys, invalid keys, and missing tables', () => {
    expect(probe(vendorResponse(200, []))).toMatchObject({ ok: true });
    expect(probe(vendorResponse(401, { message: 'Invalid API key' }))).toMatchObject({ ok: false });
    expect(probe(refusal(404, 'PGRST205'))).toEqual({ ok: false, message: MISSING });
    expect(probe(refusal(400, '42703', 'column event_id does not exist'))).toMatchObject({ ok: false });
  });
});
