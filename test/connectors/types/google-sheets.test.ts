import { describe, expect, test } from 'vitest';
import { googleSheets } from '../../../src/connectors/types/google-sheets.ts';
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

const config = { spreadsheetId: '1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms', accessToken: 'ya29.token' };
const sheetUrl = 'https://sheets.googleapis.com/v4/spreadsheets/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms';
const appendUrl = `${sheetUrl}/values/'Sheet1'!A1:append?valueInputOption=RAW&insertDataOption=INSERT_ROWS`;
const first = sampleEvent('payment.settled', {}, { id: 'evt_1' });
const second = sampleEvent('payment.settled', {}, { id: 'evt_2' });
const third = sampleEvent('payment.settled', {}, { id: 'evt_3' });
const appended = (updatedRows: number, updatedRange = 'Sheet1!A10:J12') =>
  vendorResponse(200, { spreadsheetId: config.spreadsheetId, updates: { updatedRange, updatedRows } });
const failure = (code: number, status: string, message = 'Some message') =>
  vendorResponse(code, { error: { code, message, status } });
const classify = (response: ReturnType<typeof vendorResponse>, step = 'append') =>
  googleSheets.classify(response, classifyContext(config, first, { step }));

describe('a Google Sheets request', () => {
  test('appends one row of raw values in fixed columns', () => {
    const request = requestOf(googleSheets.build([sampleEvent('payment.settled')], config, sampleContext()));
    expect({ ...request, url: decodeURIComponent(request.url) }).toMatchObject({
      method: 'POST',
      url: appendUrl,
      headers: { authorization: 'Bearer ya29.token', 'content-type': 'application/json' },
    });
    expect(JSON.parse(request.body ?? '')).toEqual({
      majorDimension: 'ROWS',
      values: [
        [
          'evt_01jc9x2v5qe3w8k4m6n7p9r0st',
          'payment.settled',
          '2026-01-02T03:04:05.678Z',
          'ep_01jc9x2v5qe3w8k4m6n7p9r0st',
          '0x1f98431c8ad98523631ae4a59f267346ea31f984',
          0.01,
          'USD',
          'eip155:84532',
          `0x${'5e'.repeat(32)}`,
          'Payment settled: 0.01 USDC',
        ],
      ],
    });
  });

  test('writes the events of a batch in one call, in order', () => {
    const built = googleSheets.build([first, second, third], config, sampleContext());
    const { values } = JSON.parse(requestOf(built).body ?? '');
    expect(values.map((row: string[]) => row[0])).toEqual(['evt_1', 'evt_2', 'evt_3']);
  });

  test.each(EVENT_KINDS)('sends %s as ten cells', (kind) => {
    const [row] = builtJson(googleSheets, config, sampleEvent(kind)).values;
    expect(row).toHaveLength(10);
    expect(row[1]).toBe(kind);
    expect(row[9]).not.toBe('');
  });

  test('leaves cells blank if an event type has no value for them', () => {
    const [row] = builtJson(googleSheets, config, sampleEvent('revenue.daily_summary')).values;
    expect(row.slice(2, 9)).toEqual(['2026-01-02T23:59:59.999Z', '', '', '', '', '', '']);
  });

  test('marks a test event and omits its amount', () => {
    const [row] = builtJson(googleSheets, config, testEvent()).values;
    expect([row[1], row[5], row[9]]).toEqual(['test.payment.settled', '', '[Test] Payment settled: 0.01 USDC']);
  });

  test('quotes a tab name with spaces and apostrophes', () => {
    const odd = { ...config, sheetName: "Bob's sales/2026" };
    expect(requestOf(googleSheets.build([first], odd, sampleContext())).url).toContain(
      `/values/${encodeURIComponent("'Bob''s sales/2026'!A1")}:append?`,
    );
  });

  test.each(HOSTILE_TEXTS)('never starts a cell like a formula: %j', (text) => {
    const events = [
      sampleEvent('payment.failed', { reason: text, message: text, network: text, endpointPath: text }),
      sampleEvent('endpoint.created', { path: text, description: text }),
      sampleEvent('customer.milestone', { payer: text, milestoneUsd: text }),
    ];
    for (const event of events) {
      for (const cell of builtJson(googleSheets, config, event).values[0]) {
        expect(String(cell)).not.toMatch(/^[=+\-@\t\r\n]/);
        expect(String(cell).length).toBeLessThan(50_000);
      }
    }
  });
});

describe('a retry to Google Sheets', () => {
  const steps = (vendor: Parameters<typeof drive>[3], overrides = {}) =>
    drive(googleSheets, config, [first, second], vendor, { attemptNumber: 2, ...overrides });
  const grid = vendorResponse(200, {
    sheets: [{ properties: { title: 'Sheet1', gridProperties: { rowCount: 5000 } } }],
  });
  const ids = (...values: string[]) =>
    vendorResponse(200, `{"majorDimension":"COLUMNS","values":[${JSON.stringify(values)}]}`);

  test('first reads the IDs near the last known row, and appends only missing rows', () => {
    const memory = { [`lastRow:${config.spreadsheetId}:Sheet1`]: '4321' };
    const { outcome, requests } = steps((_request, index) => (index === 0 ? ids('evt_1') : appended(1)), {
      memory,
      previousAttemptAmbiguous: true,
      attemptNumber: 1,
    });
    expect(requests.map(({ method, url }) => `${method} ${decodeURIComponent(url)}`)).toEqual([
      `GET ${sheetUrl}/values/'Sheet1'!A3321:A?majorDimension=COLUMNS&prettyPrint=false`,
      `POST ${appendUrl}`,
    ]);
    expect(JSON.parse(requests[1]?.body ?? '').values.map((row: string[]) => row[0])).toEqual(['evt_2']);
    expect(outcome.kind).toBe('delivered');
  });

  test('writes nothing if every row exists', () => {
    const { outcome, steps: taken } = steps((_request, index) => (index === 0 ? grid : ids('evt_0', 'evt_1', 'evt_2')));
    expect(taken).toEqual(['grid', 'read-back']);
    expect(outcome).toEqual({ kind: 'delivered', note: 'The rows already existed.' });
  });

  test('reads the end of the grid if the last row is unknown', () => {
    const { requests } = steps((_request, index) => [grid, ids(), appended(2)][index] ?? vendorResponse(500));
    expect(decodeURIComponent(requests[1]?.url ?? '')).toContain("/values/'Sheet1'!A3100:A?");
  });

  test('reads the end of the grid if the sheet became shorter', () => {
    const beyond = failure(400, 'INVALID_ARGUMENT', 'Range (Sheet1!A3321:A) exceeds grid limits. Max rows: 1000');
    const { steps: taken } = steps(
      (_request, index) => [beyond, grid, ids(), appended(2)][index] ?? vendorResponse(500),
      {
        memory: { [`lastRow:${config.spreadsheetId}:Sheet1`]: '4321' },
      },
    );
    expect(taken).toEqual(['read-back', 'grid', 'read-back', 'append-missing']);
  });

  test('finds an ID in a list that was cut off', () => {
    const { outcome } = steps((_request, index) =>
      index === 0 ? grid : vendorResponse(200, '{"values":[["evt_1","evt_2","ev'),
    );
    expect(outcome.kind).toBe('delivered');
  });

  test('remembers the last row it wrote', () => {
    const { memory } = drive(googleSheets, config, [first], () => appended(1));
    expect(memory).toEqual({ [`lastRow:${config.spreadsheetId}:Sheet1`]: '12' });
  });
});

describe('reading Google Sheets responses', () => {
  test.each([
    ['confirmation of every row', appended(1), 'delivered'],
    ['fewer rows than sent', appended(0), 'retry'],
    ['200 without JSON', vendorResponse(200, '<html>'), 'retry'],
    ['an expired token', failure(401, 'UNAUTHENTICATED'), 'pause'],
    ['a missing permission', failure(403, 'PERMISSION_DENIED'), 'pause'],
    ['a deleted spreadsheet', failure(404, 'NOT_FOUND'), 'disable'],
    ['a missing tab', failure(400, 'INVALID_ARGUMENT', "Unable to parse range: 'Sheet1'!A1"), 'pause'],
    [
      'a full spreadsheet',
      failure(
        400,
        'INVALID_ARGUMENT',
        'This action would increase the number of cells above the limit of 10000000 cells.',
      ),
      'pause',
    ],
    ['another bad request', failure(400, 'INVALID_ARGUMENT'), 'drop'],
    ['an exceeded quota', failure(429, 'RESOURCE_EXHAUSTED'), 'retry'],
    ['500', vendorResponse(500), 'retry'],
    ['503', failure(503, 'UNAVAILABLE'), 'retry'],
    ['a redirect', vendorResponse(302), 'drop'],
  ])('classifies %s', (_case, response, kind) => {
    expect(classify(response).kind).toBe(kind);
  });

  test('waits until the per-minute quota resets', () => {
    expect(classify(failure(429, 'RESOURCE_EXHAUSTED'))).toMatchObject({ afterSeconds: 60 });
  });

  test("doesn't accept half a batch as complete", () => {
    const context = { ...classifyContext(config, first, { step: 'append' }), events: [first, second] };
    expect(googleSheets.classify(appended(1), context).kind).toBe('retry');
  });
});

describe('the Google Sheets config', () => {
  test.each([
    [{}, true],
    [{ sheetName: 'Zahlungen 2026' }, true],
    [{ spreadsheetId: 'short' }, false],
    [{ spreadsheetId: 'https://docs.google.com/spreadsheets/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms' }, false],
    [{ spreadsheetId: '../../../1BxiMVs0XRA5nFMdKvB' }, false],
    [{ sheetName: '' }, false],
    [{ sheetName: 'x'.repeat(101) }, false],
    [{ sheetName: 'a\nb' }, false],
    [{ accessToken: undefined }, false],
    [{ accessToken: 'two words' }, false],
    [{ range: 'A1' }, false],
  ])('with %j is accepted: %s', (change, isGood) => {
    expect(accepts(googleSheets, { ...config, ...change })).toBe(isGood);
  });
});

describe('the Google Sheets probe', () => {
  const probe = (response: ReturnType<typeof vendorResponse>) => googleSheets.probe?.classify(response, config, 'send');

  test("reads the sheets' titles", () => {
    const request = googleSheets.probe?.build(config);
    expect(decodeURIComponent(request?.url ?? '')).toBe(
      `${sheetUrl}?fields=spreadsheetId,sheets.properties(title,gridProperties.rowCount)`,
    );
    expect(request?.method).toBe('GET');
  });

  test('reports a missing sheet', () => {
    const tabs = (title: string) => vendorResponse(200, { sheets: [{ properties: { title } }] });
    expect(probe(tabs('Sheet1'))).toMatchObject({ ok: true });
    expect(probe(tabs('Tabelle1'))).toMatchObject({ ok: false, message: expect.stringContaining('"Sheet1"') });
    expect(probe(failure(401, 'UNAUTHENTICATED'))).toMatchObject({ ok: false });
  });
});
