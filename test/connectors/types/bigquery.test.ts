import { describe, expect, test } from 'vitest';
import { bigquery } from '../../../src/connectors/types/bigquery.ts';
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

const config = { projectId: 'my-project-123', datasetId: 'payments', tableId: 'events', accessToken: 'ya29.token' };
const settled = sampleEvent('payment.settled');
const classify = (response: ReturnType<typeof vendorResponse>) =>
  bigquery.classify(response, classifyContext(config, settled));
const googleError = (code: number, reason: string, message = 'Some message') =>
  vendorResponse(code, { error: { code, message, errors: [{ reason, message }], status: 'SOME_STATUS' } });

describe('a BigQuery request', () => {
  test('inserts one row under the event ID', () => {
    const request = requestOf(bigquery.build([settled], config, sampleContext()));
    expect(request).toMatchObject({
      method: 'POST',
      url: 'https://bigquery.googleapis.com/bigquery/v2/projects/my-project-123/datasets/payments/tables/events/insertAll',
      headers: { authorization: 'Bearer ya29.token', 'content-type': 'application/json' },
    });
    expect(JSON.parse(request.body ?? '')).toEqual({
      skipInvalidRows: false,
      ignoreUnknownValues: true,
      rows: [
        {
          insertId: 'evt_01jc9x2v5qe3w8k4m6n7p9r0st',
          json: {
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
            payload: JSON.stringify(settled.data),
          },
        },
      ],
    });
  });

  test('inserts the events of a batch as rows with their own IDs, in order', () => {
    const events = ['evt_1', 'evt_2', 'evt_3'].map((id) => sampleEvent('payment.settled', {}, { id }));
    const built = bigquery.build(events as [(typeof events)[0]], config, sampleContext());
    const { rows } = JSON.parse(requestOf(built).body ?? '');
    expect(
      rows.map((row: { insertId: string; json: { event_id: string } }) => [row.insertId, row.json.event_id]),
    ).toEqual(['evt_1', 'evt_2', 'evt_3'].map((id) => [id, id]));
  });

  test.each(EVENT_TYPES)('sends %s with its payload as text', (eventType) => {
    const event = sampleEvent(eventType);
    expect(bigquery.supportsEvent(eventType, new Set([eventType]))).toBe(true);
    expect(JSON.parse(builtJson(bigquery, config, event).rows[0].json.payload)).toEqual(event.data);
  });

  test('sends the same bytes on a retry', () => {
    const later = sampleContext({ attemptNumber: 7, previousAttemptAmbiguous: true, now: new Date(0) });
    expect(bigquery.build([settled], config, later)).toEqual(bigquery.build([settled], config, sampleContext()));
  });

  test('marks a test event and omits its amount', () => {
    expect(builtJson(bigquery, config, testEvent()).rows[0].json).toMatchObject({
      kind: 'test.payment.settled',
      amount_usd: null,
    });
  });

  test.each(HOSTILE_TEXTS)('stores hostile text as data: %j', (text) => {
    const { message } = JSON.parse(
      builtJson(bigquery, config, sampleEvent('payment.failed', { message: text })).rows[0].json.payload,
    );
    expect(message).toBe(text.replaceAll('\0', '').toWellFormed());
  });

  test('escapes the names in the URL', () => {
    const odd = { ...config, tableId: 'a b–ü' };
    expect(bigquery.config.parse(odd)).toEqual(odd);
    expect(requestOf(bigquery.build([settled], odd, sampleContext())).url).toContain('/tables/a%20b%E2%80%93%C3%BC/');
  });
});

describe('reading BigQuery responses', () => {
  const rowErrors = (...reasons: string[]) =>
    vendorResponse(200, {
      insertErrors: [
        { index: 0, errors: reasons.map((reason) => ({ reason, location: 'amount_usd', message: 'bad' })) },
      ],
    });

  test.each([
    ['a stored row', vendorResponse(200, { kind: 'bigquery#tableDataInsertAllResponse' }), 'delivered'],
    ['an empty list of row errors', vendorResponse(200, { insertErrors: [] }), 'delivered'],
    ['a rejected row with 200', rowErrors('invalid'), 'drop'],
    ['a row that was stopped because of another row', rowErrors('stopped'), 'retry'],
    ['a row error from the backend', rowErrors('backendError'), 'retry'],
    ['a rejected row among stopped ones', rowErrors('stopped', 'invalid'), 'drop'],
    ['200 without JSON', vendorResponse(200, '<html>'), 'retry'],
    ['an expired token', googleError(401, 'authError'), 'pause'],
    ['a missing permission', googleError(403, 'accessDenied'), 'pause'],
    ['disabled billing', googleError(403, 'billingNotEnabled'), 'pause'],
    ['an exceeded quota with 403', googleError(403, 'quotaExceeded'), 'retry'],
    ['a rate limit with 403', googleError(403, 'rateLimitExceeded'), 'retry'],
    ['429', vendorResponse(429), 'retry'],
    ['a bad request', googleError(400, 'invalid'), 'drop'],
    ['a request that is too large', vendorResponse(413), 'drop'],
    ['a redirect', vendorResponse(302), 'drop'],
    ['500', vendorResponse(500), 'retry'],
    ['503', vendorResponse(503), 'retry'],
  ])('classifies %s', (_case, response, kind) => {
    expect(classify(response).kind).toBe(kind);
  });

  test('pauses if the table is missing, and says what to do', () => {
    const missing = googleError(404, 'notFound', 'Not found: Table my-project-123:payments.events');
    expect(classify(missing)).toEqual({
      kind: 'pause',
      reason:
        "BigQuery can't find the table. Create it, or change the project, dataset, or table ID. Then resume the connector.",
    });
  });

  test('waits a minute for a quota, or longer if asked to', () => {
    expect(classify(googleError(403, 'quotaExceeded'))).toMatchObject({ afterSeconds: 60 });
    expect(classify(vendorResponse(429, '', { 'retry-after': '600' }))).toMatchObject({ afterSeconds: 600 });
  });

  test('can have an error for each row of a full batch, which must be read completely', () => {
    const events = Array(500).fill(settled) as unknown as [typeof settled];
    const stopped = { reason: 'stopped', location: '', debugInfo: '', message: '' };
    const insertErrors = events.map((_, index) => ({
      index,
      errors: [index === 499 ? { ...stopped, reason: 'invalid', location: 'amount_usd', message: 'bad' } : stopped],
    }));
    const body = JSON.stringify({ kind: 'bigquery#tableDataInsertAllResponse', insertErrors }, null, 1);
    const limit = requestOf(bigquery.build(events, config, sampleContext())).maxResponseBytes ?? 65_536;
    expect(classify({ ...vendorResponse(200), body: body.slice(0, limit) })).toEqual({
      kind: 'drop',
      reason: 'BigQuery rejected the row (column amount_usd): bad',
    });
  });

  test('names the column of a rejected row without revealing the token', () => {
    const response = vendorResponse(200, {
      insertErrors: [{ index: 0, errors: [{ reason: 'invalid', location: 'amount_usd', message: 'bad ya29.token' }] }],
    });
    expect(classify(response)).toEqual({
      kind: 'drop',
      reason: 'BigQuery rejected the row (column amount_usd): bad ••••',
    });
    expect(JSON.stringify(classify(googleError(403, 'accessDenied', 'token ya29.token')))).not.toContain('ya29.token');
  });
});

describe('the BigQuery config', () => {
  test.each([
    [{}, true],
    [{ projectId: 'example.com:my-project' }, true],
    [{ projectId: 'My Project' }, false],
    [{ projectId: '../other' }, false],
    [{ datasetId: 'a-b' }, false],
    [{ datasetId: 'a/b' }, false],
    [{ tableId: 'events$20260101' }, false],
    [{ tableId: 'a/../b' }, false],
    [{ accessToken: '' }, false],
    [{ accessToken: 'two words' }, false],
    [{ accessToken: 'a\r\nb' }, false],
    [{ tableId: undefined }, false],
    [{ region: 'eu' }, false],
  ])('accepts %j: %s', (change, isGood) => {
    expect(accepts(bigquery, { ...config, ...change })).toBe(isGood);
  });
});

describe('the BigQuery probe', () => {
  const columns =
    'event_id kind occurred_at payment_id endpoint_id customer amount_usd currency network tx_hash payload'.split(' ');
  const probe = (response: ReturnType<typeof vendorResponse>) => bigquery.probe?.classify(response, config, 'send');
  const table = (names: string[]) => vendorResponse(200, { schema: { fields: names.map((name) => ({ name })) } });

  test("reads the table's columns", () => {
    expect(bigquery.probe?.build(config)).toMatchObject({
      method: 'GET',
      url: 'https://bigquery.googleapis.com/bigquery/v2/projects/my-project-123/datasets/payments/tables/events?fields=schema.fields(name)',
    });
  });

  test('accepts a table with every column and lists missing ones', () => {
    expect(probe(table(columns))).toMatchObject({ ok: true });
    expect(probe(table(columns.filter((name) => name !== 'payload' && name !== 'tx_hash')))).toEqual({
      ok: false,
      message: 'The table is missing these columns: tx_hash, payload.',
    });
  });

  test('reports an expired token and a missing table', () => {
    expect(probe(vendorResponse(401))).toMatchObject({ ok: false, message: expect.stringContaining('save a new one') });
    expect(probe(vendorResponse(404))).toMatchObject({ ok: false });
  });
});
