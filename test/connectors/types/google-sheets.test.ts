import { describe, expect, test } from 'vitest';
import type { ConnectorEvent } from '../../../src/connectors/definition.ts';
import { googleSheets } from '../../../src/connectors/types/google-sheets.ts';
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

const config = { spreadsheetId: '1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms', accessToken: 'ya29.token' };
const sheetUrl = 'https://sheets.googleapis.com/v4/spreadsheets/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms';
const appendUrl = `${sheetUrl}/values/'Tabelle1'!A1:append?valueInputOption=RAW&insertDataOption=INSERT_ROWS`;
const TAB_KEY = `tab:${config.spreadsheetId}:`;
const ROW_KEY = `lastRow:${config.spreadsheetId}:Tabelle1`;
/** The connector's memory once it has found the sheet. */
const known = { [TAB_KEY]: '7:Tabelle1' };
const first = sampleEvent('payment.settled', {}, { id: 'evt_1' });
const second = sampleEvent('payment.settled', {}, { id: 'evt_2' });
const third = sampleEvent('payment.settled', {}, { id: 'evt_3' });
const appended = (updatedRows: number, updatedRange = 'Tabelle1!A10:J12') =>
  vendorResponse(200, { spreadsheetId: config.spreadsheetId, updates: { updatedRange, updatedRows } });
const failure = (code: number, status: string, message = 'Some message') =>
  vendorResponse(code, { error: { code, message, status } });
const classify = (response: ReturnType<typeof vendorResponse>, step = 'append') =>
  googleSheets.classify(response, classifyContext(config, first, { step }));
const cellsOf = (event: ConnectorEvent) =>
  builtJson(googleSheets, config, event, sampleContext({ memory: known })).values[0];

type Sheet = { properties: object; data?: object[] };
const sheet = (title: string, properties: object = {}, cells?: object[]): Sheet => ({
  properties: { sheetId: 7, title, sheetType: 'GRID', gridProperties: { rowCount: 5000 }, ...properties },
  data: [cells ? { rowData: [{ values: cells }] } : {}],
});
const spreadsheet = (...sheets: Sheet[]) => vendorResponse(200, { spreadsheetId: config.spreadsheetId, sheets });
const filled = sheet('Tabelle1', {}, [{ effectiveValue: { stringValue: 'Event ID' } }]);
const changed = vendorResponse(200, { spreadsheetId: config.spreadsheetId, replies: [{}] });
const unknownRange = failure(400, 'INVALID_ARGUMENT', "Unable to parse range: 'Tabelle1'!A1");

/** Sends these responses, in order. */
const inOrder =
  (...responses: ReturnType<typeof vendorResponse>[]): Parameters<typeof drive>[3] =>
  (_request, index) =>
    responses[index] ?? vendorResponse(500);

describe('a Google Sheets request', () => {
  test('appends one row of raw values in fixed columns, with the time as days since 1899-12-30', () => {
    const context = sampleContext({ memory: known });
    const request = requestOf(googleSheets.build([sampleEvent('payment.settled')], config, context));
    expect({ ...request, url: decodeURIComponent(request.url) }).toMatchObject({
      method: 'POST',
      url: appendUrl,
      headers: { authorization: 'Bearer ya29.token', 'content-type': 'application/json' },
    });
    const { majorDimension, values } = JSON.parse(request.body ?? '');
    expect([majorDimension, values.length]).toEqual(['ROWS', 1]);
    const [id, kind, time, ...others] = values[0];
    expect([id, kind]).toEqual(['evt_01jc9x2v5qe3w8k4m6n7p9r0st', 'payment.settled']);
    // 2026-01-02 is day 46024, and 03:04:05.678 is 12.8% of it.
    expect(time).toBeCloseTo(46_024 + (3 * 3600 + 4 * 60 + 5.678) / 86_400, 9);
    expect(others).toEqual([
      'ep_01jc9x2v5qe3w8k4m6n7p9r0st',
      '0x1f98431c8ad98523631ae4a59f267346ea31f984',
      0.01,
      'USD',
      'eip155:84532',
      `0x${'5e'.repeat(32)}`,
      'Payment settled: 0.01 USDC',
    ]);
  });

  test('writes the events of a batch in one call, in order', () => {
    const built = googleSheets.build([first, second, third], config, sampleContext({ memory: known }));
    const { values } = JSON.parse(requestOf(built).body ?? '');
    expect(values.map((row: string[]) => row[0])).toEqual(['evt_1', 'evt_2', 'evt_3']);
  });

  test.each(EVENT_TYPES)('sends %s as ten cells', (eventType) => {
    const row = cellsOf(sampleEvent(eventType));
    expect(row).toHaveLength(10);
    expect(row[1]).toBe(eventType);
    expect(row[9]).not.toBe('');
  });

  test('leaves cells blank if an event type has no value for them', () => {
    const row = cellsOf(sampleEvent('revenue.daily_summary'));
    expect(Math.floor(row[2])).toBe(46_024);
    expect(row.slice(3, 9)).toEqual(['', '', '', '', '', '']);
  });

  test('marks a test event and omits its amount', () => {
    const row = cellsOf(testEvent());
    expect([row[1], row[5], row[9]]).toEqual(['test.payment.settled', '', '[Test] Payment settled: 0.01 USDC']);
  });

  test('quotes a tab name with spaces and apostrophes', () => {
    const odd = { ...config, sheetName: "Bob's sales/2026" };
    const memory = { [`${TAB_KEY}Bob's sales/2026`]: "3:Bob's sales/2026" };
    expect(requestOf(googleSheets.build([first], odd, sampleContext({ memory }))).url).toContain(
      `/values/${encodeURIComponent("'Bob''s sales/2026'!A1")}:append?`,
    );
    expect(new URL(requestOf(googleSheets.build([first], odd, sampleContext())).url).searchParams.get('ranges')).toBe(
      "'Bob''s sales/2026'!A1:J1",
    );
  });

  test.each(HOSTILE_TEXTS)('never starts a cell like a formula: %j', (text) => {
    const events = [
      sampleEvent('payment.failed', { reason: text, message: text, network: text, endpointPath: text }),
      sampleEvent('endpoint.created', { path: text, description: text }),
      sampleEvent('customer.milestone', { payer: text, milestoneUsd: text }),
    ];
    for (const event of events) {
      for (const cell of cellsOf(event)) expect(String(cell)).not.toMatch(/^[=+\-@\t\r\n]/);
    }
  });
});

describe('the first delivery to Google Sheets', () => {
  const deliver = (vendor: Parameters<typeof drive>[3]) => drive(googleSheets, config, [first], vendor);

  test('finds the first visible sheet, gives it a heading, appends the row, and formats its time', () => {
    const vendor = inOrder(
      spreadsheet(sheet('Hidden', { hidden: true }), sheet('Chart', { sheetType: 'OBJECT' }), sheet('Tabelle1')),
      changed,
      appended(1, "'Tabelle1'!A2:J2"),
      changed,
    );
    const { outcome, requests, memory } = deliver(vendor);
    expect(requests.map(({ method, url }) => `${method} ${decodeURIComponent(url.split('?')[0]!)}`)).toEqual([
      `GET ${sheetUrl}`,
      `POST ${sheetUrl}:batchUpdate`,
      `POST ${sheetUrl}/values/'Tabelle1'!A1:append`,
      `POST ${sheetUrl}:batchUpdate`,
    ]);
    expect(new URL(requests[0]!.url).searchParams.get('ranges')).toBe('A1:J1');
    const [heading, frozen] = JSON.parse(requests[1]!.body!).requests;
    expect(heading.updateCells.start).toEqual({ sheetId: 7, rowIndex: 0, columnIndex: 0 });
    const cells: { userEnteredValue: { stringValue: string } }[] = heading.updateCells.rows[0].values;
    expect(cells.map(({ userEnteredValue }) => userEnteredValue.stringValue)).toEqual([
      ...['Event ID', 'Type', 'Time (UTC)', 'Endpoint', 'Customer', 'Amount', 'Currency', 'Network', 'Transaction'],
      'Summary',
    ]);
    expect(frozen.updateSheetProperties.properties).toEqual({ sheetId: 7, gridProperties: { frozenRowCount: 1 } });
    expect(JSON.parse(requests[3]!.body!).requests).toEqual([
      {
        repeatCell: {
          range: { sheetId: 7, startRowIndex: 1, endRowIndex: 2, startColumnIndex: 2, endColumnIndex: 3 },
          cell: { userEnteredFormat: { numberFormat: { type: 'DATE_TIME', pattern: 'yyyy-mm-dd hh:mm:ss' } } },
          fields: 'userEnteredFormat.numberFormat',
        },
      },
    ]);
    expect(outcome).toEqual({ kind: 'delivered' });
    expect(memory).toEqual({ [TAB_KEY]: '7:Tabelle1', [ROW_KEY]: '2' });
  });

  test("doesn't change the first row unless it is empty", () => {
    const { steps } = deliver(inOrder(spreadsheet(filled), appended(1), changed));
    expect(steps).toEqual(['tab', 'append', 'format']);
  });

  test('appends rows even if the sheet is too narrow for the heading', () => {
    const tooNarrow = failure(
      400,
      'INVALID_ARGUMENT',
      'Attempting to write column: 6, beyond the last requested column',
    );
    const { steps, outcome } = deliver(inOrder(spreadsheet(sheet('Tabelle1')), tooNarrow, appended(1), changed));
    expect(steps).toEqual(['tab', 'heading:7:Tabelle1', 'append', 'format']);
    expect(outcome.kind).toBe('delivered');
  });

  test('writes the heading later if Google is busy', () => {
    const { memory, outcome } = deliver(inOrder(spreadsheet(sheet('Tabelle1')), failure(503, 'UNAVAILABLE')));
    expect(outcome.kind).toBe('retry');
    expect(memory).toEqual({});
    const retried = drive(
      googleSheets,
      config,
      [first],
      inOrder(spreadsheet(sheet('Tabelle1')), changed, appended(1), changed),
      { attemptNumber: 2 },
    );
    expect(retried.steps).toEqual(['tab', 'heading:7:Tabelle1', 'append', 'format']);
  });

  test('pauses if there is no visible sheet', () => {
    expect(deliver(inOrder(spreadsheet(sheet('Hidden', { hidden: true })))).outcome).toEqual({
      kind: 'pause',
      reason: 'The spreadsheet has no visible sheet. Add one, then resume the connector.',
    });
  });

  test('uses the sheet with the configured name even if it is hidden', () => {
    const named = { ...config, sheetName: 'Archive' };
    const vendor = inOrder(spreadsheet(sheet('Archive', { hidden: true })), changed, appended(1), changed);
    expect(drive(googleSheets, named, [first], vendor).outcome.kind).toBe('delivered');
  });
});

describe('a later delivery to Google Sheets', () => {
  const deliver = (vendor: Parameters<typeof drive>[3]) =>
    drive(googleSheets, config, [first], vendor, { memory: known });

  test('formats the time column, wherever the table starts', () => {
    const { requests } = deliver(inOrder(appended(1, 'Tabelle1!C10:L10'), changed));
    expect(JSON.parse(requests[1]!.body!).requests[0].repeatCell.range).toEqual({
      sheetId: 7,
      startRowIndex: 9,
      endRowIndex: 10,
      startColumnIndex: 4,
      endColumnIndex: 5,
    });
  });

  test.each([401, 403, 404, 429, 500, 503])('counts as delivered if formatting fails with %s', (status) => {
    const { outcome, memory } = deliver(inOrder(appended(1), vendorResponse(status)));
    expect(outcome).toEqual({
      kind: 'delivered',
      note: "Google Sheets stored the rows but didn't format their times.",
    });
    expect(memory).toEqual({ ...known, [ROW_KEY]: '12' });
  });

  test('forgets a sheet ID that no longer exists', () => {
    const gone = failure(400, 'INVALID_ARGUMENT', 'Invalid requests[0].repeatCell: No grid with id: 7');
    const { outcome, memory } = deliver(inOrder(appended(1), gone));
    expect(outcome.kind).toBe('delivered');
    expect(memory).toMatchObject({ [TAB_KEY]: '' });
  });

  test('finds the first visible sheet again after it was renamed', () => {
    const renamed = sheet('Zahlungen', {}, [{ effectiveValue: { stringValue: 'Event ID' } }]);
    const { steps, memory, outcome } = deliver(
      inOrder(unknownRange, spreadsheet(renamed), appended(1, 'Zahlungen!A9:J9'), changed),
    );
    expect(steps).toEqual(['append', 'tab', 'append', 'format']);
    expect(outcome.kind).toBe('delivered');
    expect(memory).toMatchObject({ [TAB_KEY]: '7:Zahlungen' });
  });
});

describe('a retry to Google Sheets', () => {
  const steps = (vendor: Parameters<typeof drive>[3], overrides = {}) =>
    drive(googleSheets, config, [first, second], vendor, { attemptNumber: 2, ...overrides });
  const ids = (...values: string[]) =>
    vendorResponse(200, `{"majorDimension":"COLUMNS","values":[${JSON.stringify(values)}]}`);

  test('first reads the IDs near the last known row, and appends only missing rows', () => {
    const memory = { ...known, [ROW_KEY]: '4321' };
    const { outcome, requests } = steps(inOrder(ids('evt_1'), appended(1), changed), {
      memory,
      previousAttemptAmbiguous: true,
      attemptNumber: 1,
    });
    expect(requests.slice(0, 2).map(({ method, url }) => `${method} ${decodeURIComponent(url)}`)).toEqual([
      `GET ${sheetUrl}/values/'Tabelle1'!A3321:A?majorDimension=COLUMNS&prettyPrint=false`,
      `POST ${appendUrl}`,
    ]);
    expect(JSON.parse(requests[1]?.body ?? '').values.map((row: string[]) => row[0])).toEqual(['evt_2']);
    expect(outcome.kind).toBe('delivered');
  });

  test('writes nothing if every row exists', () => {
    const { outcome, steps: taken } = steps(inOrder(spreadsheet(filled), ids('evt_0', 'evt_1', 'evt_2')));
    expect(taken).toEqual(['tab', 'read-back']);
    expect(outcome).toEqual({ kind: 'delivered', note: 'The rows already existed.' });
  });

  test('reads the end of the grid if the last row is unknown', () => {
    const { requests } = steps(inOrder(spreadsheet(filled), ids(), appended(2), changed), { memory: known });
    expect(decodeURIComponent(requests[1]?.url ?? '')).toContain("/values/'Tabelle1'!A3100:A?");
  });

  test('reads the end of the grid if the sheet became shorter', () => {
    const beyond = failure(400, 'INVALID_ARGUMENT', 'Range (Tabelle1!A3321:A) exceeds grid limits. Max rows: 1000');
    const { steps: taken } = steps(inOrder(beyond, spreadsheet(filled), ids(), appended(2), changed), {
      memory: { ...known, [ROW_KEY]: '4321' },
    });
    expect(taken).toEqual(['read-back', 'tab', 'read-back', 'append-missing', 'format']);
  });

  test('finds an ID in a list that was cut off', () => {
    const cut = vendorResponse(200, '{"values":[["evt_1","evt_2","ev');
    expect(steps(inOrder(spreadsheet(filled), cut)).outcome.kind).toBe('delivered');
  });

  test.each(['{"values":[["evt_1","ev', '<html>', ''])('appends nothing if the list ends early: %j', (body) => {
    const cut = { ...vendorResponse(200), body };
    const { outcome, steps: taken, requests } = steps(inOrder(spreadsheet(filled), cut, appended(1), changed));
    expect(taken).toEqual(['tab', 'read-back']);
    expect(outcome.kind).toBe('retry');
    expect(requests[1]?.maxResponseBytes).toBe(1_048_576);
  });
});

describe('reading Google Sheets responses', () => {
  test.each([
    ['confirmation of every row', appended(1), 'delivered'],
    ['fewer rows than sent', appended(0), 'retry'],
    ['200 without JSON', vendorResponse(200, '<html>'), 'retry'],
    ['an expired token', failure(401, 'UNAUTHENTICATED'), 'pause'],
    ['a missing permission', failure(403, 'PERMISSION_DENIED'), 'pause'],
    ['a deleted spreadsheet', failure(404, 'NOT_FOUND'), 'pause'],
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

  test('pauses if the configured sheet is missing, and names it', () => {
    const context = classifyContext({ ...config, sheetName: 'Sales' }, first, { step: 'append' });
    expect(googleSheets.classify(unknownRange, context)).toEqual({
      kind: 'pause',
      reason: 'The spreadsheet has no sheet named "Sales". Add it, or change the sheet name.',
    });
  });

  test('says how to continue after a spreadsheet was deleted', () => {
    expect(classify(failure(404, 'NOT_FOUND'))).toMatchObject({
      reason:
        "Google can't find the spreadsheet. Restore it from the trash, or change the spreadsheet ID. Then resume the connector.",
    });
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
  ])('accepts %j: %s', (change, isGood) => {
    expect(accepts(googleSheets, { ...config, ...change })).toBe(isGood);
  });
});

describe('the Google Sheets probe', () => {
  const probe = (response: ReturnType<typeof vendorResponse>, settings = config) =>
    googleSheets.probe?.classify(response, settings, 'tab');

  test("reads the sheet's properties and first row", () => {
    const request = googleSheets.probe!.build(config);
    expect([request.method, request.url.split('?')[0]]).toEqual(['GET', sheetUrl]);
    expect(Object.fromEntries(new URL(request.url).searchParams)).toEqual({
      ranges: 'A1:J1',
      fields:
        'spreadsheetId,sheets(properties(sheetId,title,hidden,sheetType,gridProperties.rowCount),data.rowData.values.effectiveValue)',
    });
  });

  test('names the sheet that will receive the rows', () => {
    expect(probe(spreadsheet(sheet('Tabelle1')))).toEqual({
      ok: true,
      message: 'Google Sheets found the spreadsheet and the sheet "Tabelle1".',
    });
  });

  test('reports a missing sheet and an expired token', () => {
    const named = { ...config, sheetName: 'Sales' };
    expect(probe(unknownRange, named)).toMatchObject({ ok: false, message: expect.stringContaining('"Sales"') });
    expect(probe(spreadsheet(), named)).toMatchObject({ ok: false, message: expect.stringContaining('"Sales"') });
    expect(probe(failure(401, 'UNAUTHENTICATED'))).toMatchObject({ ok: false });
  });
});
