import { describe, expect, test } from 'vitest';
import { dune } from '../../../src/connectors/types/dune.ts';
import { EVENT_TYPES } from '../../../src/events/types.ts';
import { drive } from '../support/drive.ts';
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

const config = { apiKey: 'dune-secret', namespace: 'my_team' };
const known = { 'table:my_team/x402_events': 'created' };
const settled = sampleEvent('payment.settled');
const columns = [
  ...['event_id', 'kind', 'occurred_at', 'payment_id', 'endpoint_id', 'customer', 'amount_usd', 'amount_atomic'],
  ...['currency', 'network', 'tx_hash', 'payload'],
];
const inserted = vendorResponse(200, { name: 'dune.my_team.x402_events', rows_written: 1, bytes_written: 10 });
const lines = (events: Parameters<typeof dune.build>[0], overrides: object = {}) =>
  (requestOf(dune.build(events, { ...config, ...overrides }, sampleContext({ memory: known }))).body ?? '')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
const classify = (response: ReturnType<typeof vendorResponse>, step = 'insert') =>
  dune.classify(response, classifyContext(config, settled, { step, memory: known }));

describe('a Dune request', () => {
  test('inserts newline-delimited rows with exactly the columns in the schema', () => {
    const request = requestOf(dune.build([settled], config, sampleContext({ memory: known })));
    expect(request).toMatchObject({
      method: 'POST',
      url: 'https://api.dune.com/api/v1/uploads/my_team/x402_events/insert',
      headers: { 'x-dune-api-key': 'dune-secret', 'content-type': 'application/x-ndjson' },
    });
    expect(request.body?.endsWith('}\n')).toBe(true);
    expect(JSON.parse(request.body ?? '')).toEqual({
      event_id: 'evt_01jc9x2v5qe3w8k4m6n7p9r0st',
      kind: 'payment.settled',
      occurred_at: '2026-01-02T03:04:05.678Z',
      payment_id: 'pay_01jc9x2v5qe3w8k4m6n7p9r0st',
      endpoint_id: 'ep_01jc9x2v5qe3w8k4m6n7p9r0st',
      customer: '0x1f98431c8ad98523631ae4a59f267346ea31f984',
      amount_usd: 0.01,
      amount_atomic: '10000',
      currency: 'USD',
      network: 'eip155:84532',
      tx_hash: `0x${'5e'.repeat(32)}`,
      payload: JSON.stringify(settled.data),
    });
  });

  test('sends a whole batch as one insert, one line per event', () => {
    const events = EVENT_TYPES.map((eventType, index) => sampleEvent(eventType, {}, { id: `evt_${index}` }));
    const rows = lines(events as [typeof settled, ...(typeof settled)[]]);
    expect(rows.map((row) => row.event_id)).toEqual(events.map(({ id }) => id));
    for (const row of rows) expect(Object.keys(row)).toEqual(columns);
  });

  test('marks a test event and omits its amount', () => {
    expect(lines([testEvent()])).toMatchObject([
      { kind: 'test.payment.settled', amount_usd: null, amount_atomic: null },
    ]);
  });

  test('keeps the upstream address out of a public table', () => {
    const created = sampleEvent('endpoint.created');
    expect(lines([created])[0].payload).toContain('upstreamUrl');
    expect(lines([created], { visibility: 'public' })[0].payload).not.toContain('api.example.com');
    const failed = sampleEvent('payment.failed', { message: 'The upstream redirects to https://api.example.com/v2.' });
    expect(lines([failed])[0].payload).toContain('api.example.com');
    expect(lines([failed], { visibility: 'public' })[0].payload).not.toContain('api.example.com');
  });

  test.each(HOSTILE_TEXTS)('keeps hostile text within its line: %j', (text) => {
    const rows = lines([sampleEvent('payment.failed', { message: text }), settled]);
    expect(rows).toHaveLength(2);
    expect(JSON.parse(rows[0].payload).message).toBe(text.replaceAll('\0', '').toWellFormed());
  });
});

describe('the first delivery to Dune', () => {
  const created = vendorResponse(200, { namespace: 'my_team', table_name: 'x402_events', already_existed: false });
  const account = vendorResponse(200, {
    tables: [{ full_name: 'dune.my_team.other', owner: { handle: 'my_team', type: 'team' } }],
  });

  test('creates a private table before the first insert and remembers it', () => {
    const { outcome, requests, steps, memory } = drive(dune, config, [settled], (_request, index) =>
      index === 0 ? created : inserted,
    );
    expect(steps).toEqual(['create', 'insert-created']);
    expect(requests[0]).toMatchObject({ method: 'POST', url: 'https://api.dune.com/api/v1/uploads' });
    const table = JSON.parse(requests[0]?.body ?? '');
    expect(table).toMatchObject({ namespace: 'my_team', table_name: 'x402_events', is_private: true });
    expect(table.schema.map(({ name }: { name: string }) => name)).toEqual(columns);
    expect(memory).toEqual(known);
    expect(outcome.kind).toBe('delivered');
  });

  test('creates a public table only if configured', () => {
    const { requests } = drive(dune, { ...config, visibility: 'public' }, [settled], () => created);
    expect(JSON.parse(requests[0]?.body ?? '').is_private).toBe(false);
  });

  test.each([
    ['reports it', vendorResponse(200, { already_existed: true })],
    ['responds with 400', vendorResponse(400, { error: 'This table already exists' })],
    ['responds with 409', vendorResponse(409, { error: 'table already exists' })],
  ])('accepts an existing table when Dune %s', (_case, response) => {
    const { outcome, steps } = drive(dune, config, [settled], (request) =>
      request.step === 'create' ? response : inserted,
    );
    expect(steps).toEqual(['create', 'insert-created']);
    expect(outcome.kind).toBe('delivered');
  });

  test("finds the namespace in one of the account's uploads", () => {
    const { steps, requests, memory } = drive(
      dune,
      { apiKey: 'dune-secret' },
      [settled],
      (_request, index) => [account, created, inserted][index] ?? vendorResponse(500),
    );
    expect(steps).toEqual(['namespace', 'create', 'insert-created']);
    expect(requests[0]?.url).toBe('https://api.dune.com/api/v1/uploads?limit=1');
    expect(requests[2]?.url).toBe('https://api.dune.com/api/v1/uploads/my_team/x402_events/insert');
    expect(memory).toEqual({ namespace: 'my_team', ...known });
  });

  test('pauses and asks for the namespace if the account has no uploads', () => {
    const { outcome } = drive(dune, { apiKey: 'dune-secret' }, [settled], () => vendorResponse(200, { tables: [] }));
    expect(outcome).toMatchObject({
      kind: 'pause',
      reason: expect.stringContaining("Enter it in the connector's settings"),
    });
  });

  test('never makes the table public on its own, even if the plan has no private tables', () => {
    const { outcome } = drive(dune, config, [settled], () =>
      vendorResponse(403, { error: 'Private tables require a plan' }),
    );
    expect(outcome).toMatchObject({ kind: 'pause', reason: expect.stringContaining('set visibility to public') });
  });

  test('recreates a deleted table without looping', () => {
    const missing = vendorResponse(404, { error: 'This table was not found' });
    const { outcome, steps } = drive(
      dune,
      config,
      [settled],
      (request) => (request.step === 'create' ? created : missing),
      { memory: known },
    );
    expect(steps).toEqual(['insert', 'create', 'insert-created']);
    expect(outcome.kind).toBe('retry');
  });
});

describe('reading Dune responses', () => {
  test.each([
    ['written rows', inserted, 'delivered'],
    ['rows that do not match the schema', vendorResponse(400, { error: 'column mismatch' }), 'drop'],
    ['a rejected key', vendorResponse(401, { error: 'invalid API Key' }), 'pause'],
    ['a read-only key', vendorResponse(403, { error: 'forbidden' }), 'pause'],
    ['no credits', vendorResponse(402, { error: 'quota reached' }), 'pause'],
    ['a concurrent write', vendorResponse(409, { error: 'conflict' }), 'retry'],
    ['429', vendorResponse(429), 'retry'],
    ['500', vendorResponse(500), 'retry'],
    ['503', vendorResponse(503), 'retry'],
    ['a redirect', vendorResponse(307), 'drop'],
  ])('classifies %s', (_case, response, kind) => {
    expect(classify(response).kind).toBe(kind);
  });

  test('never reveals the key', () => {
    expect(JSON.stringify(classify(vendorResponse(400, { error: 'bad dune-secret' })))).not.toContain('dune-secret');
  });
});

test('Dune batches events for five minutes, because every insert costs a credit', () => {
  expect(dune.batch).toEqual({ maxEvents: 1000, windowSeconds: 300 });
});

describe('the Dune config', () => {
  test.each([
    [{}, true],
    [{ namespace: undefined }, true],
    [{ table: 'sales_2026', visibility: 'public' }, true],
    [{ namespace: 'a/b' }, false],
    [{ table: '1table' }, false],
    [{ table: 'a-b' }, false],
    [{ table: '' }, false],
    [{ visibility: 'secret' }, false],
    [{ apiKey: '' }, false],
    [{ apiKey: undefined }, false],
    [{ schema: [] }, false],
  ])('accepts %j: %s', (change, isGood) => {
    expect(accepts(dune, { ...config, ...change })).toBe(isGood);
  });
});

describe('the Dune probe', () => {
  const probe = (response: ReturnType<typeof vendorResponse>, overrides = {}) =>
    dune.probe?.classify(response, { apiKey: 'dune-secret', ...overrides }, 'namespace');

  test('lists one upload', () => {
    expect(dune.probe?.build(config)).toMatchObject({
      method: 'GET',
      url: 'https://api.dune.com/api/v1/uploads?limit=1',
      headers: { 'x-dune-api-key': 'dune-secret' },
    });
  });

  test('recognizes valid and invalid keys, and asks for a namespace if needed', () => {
    expect(probe(vendorResponse(200, { tables: [] }), { namespace: 'my_team' })).toMatchObject({ ok: true });
    expect(probe(vendorResponse(200, { tables: [] }))).toMatchObject({ ok: false });
    expect(probe(vendorResponse(401))).toMatchObject({ ok: false });
  });
});
