import { auth, sheets } from '@googleapis/sheets';
import { expect, test } from 'vitest';
import type { ConnectorRequest } from '../../../src/connectors/exchange.ts';
import { googleSheets } from '../../../src/connectors/types/google-sheets.ts';
import { EVENT_TYPES } from '../../../src/events/types.ts';
import { type ReceivedRequest, startReceiver } from '../../support/receiver.ts';
import { drive } from '../support/drive.ts';
import { requestOf, sampleContext, sampleEvent, vendorResponse } from '../support/samples.ts';

const config = {
  spreadsheetId: '1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms',
  accessToken: 'ya29.token',
  sheetName: "Bob's sales / 2026",
};
const { spreadsheetId } = config;
const tab = { [`tab:${spreadsheetId}:${config.sheetName}`]: `3:${config.sheetName}` };

function clientAt(rootUrl: string) {
  const credentials = new auth.OAuth2();
  credentials.setCredentials({ access_token: config.accessToken });
  return sheets({ version: 'v4', auth: credentials, rootUrl: `${rootUrl}/` }).spreadsheets;
}

function expectSame(theirs: ReceivedRequest | undefined, ours: ConnectorRequest) {
  const their = new URL(theirs?.path ?? '', 'https://sheets.googleapis.com');
  const our = new URL(ours.url);
  expect(theirs?.method).toBe(ours.method);
  expect(our.origin).toBe(their.origin);
  expect(decodeURIComponent(our.pathname)).toBe(decodeURIComponent(their.pathname));
  expect(our.pathname.split('/').length).toBe(their.pathname.split('/').length);
  expect(Object.fromEntries(our.searchParams)).toEqual(Object.fromEntries(their.searchParams));
  expect(theirs?.headers.authorization).toBe(ours.headers.authorization);
}

const receiverOfJson = () => startReceiver(() => ({ headers: { 'content-type': 'application/json' }, body: '{}' }));

test.each(EVENT_TYPES)(
  'the Google Sheets connector appends the same row for %s as Google’s library',
  async (eventType) => {
    const ours = requestOf(googleSheets.build([sampleEvent(eventType)], config, sampleContext({ memory: tab })));
    await using receiver = await receiverOfJson();
    await clientAt(receiver.url).values.append({
      spreadsheetId,
      range: "'Bob''s sales / 2026'!A1",
      valueInputOption: 'RAW',
      insertDataOption: 'INSERT_ROWS',
      requestBody: JSON.parse(ours.body ?? ''),
    });
    const [theirs] = await receiver.waitFor(1);
    expectSame(theirs, ours);
    expect(theirs?.headers['content-type']).toBe(ours.headers['content-type']);
    expect(JSON.parse(String(theirs?.body))).toEqual(JSON.parse(ours.body ?? ''));
  },
);

test('the Google Sheets connector reads IDs back the way the library reads a range', async () => {
  const memory = { ...tab, [`lastRow:${spreadsheetId}:${config.sheetName}`]: '1500' };
  const context = sampleContext({ previousAttemptAmbiguous: true, memory });
  const ours = requestOf(googleSheets.build([sampleEvent('payment.settled')], config, context));
  await using receiver = await receiverOfJson();
  const range = "'Bob''s sales / 2026'!A500:A";
  await clientAt(receiver.url).values.get({ spreadsheetId, range, majorDimension: 'COLUMNS', prettyPrint: false });
  expectSame((await receiver.waitFor(1))[0], ours);
});

test('the Google Sheets connector finds the sheet with the same request as the library', async () => {
  await using receiver = await receiverOfJson();
  const fields =
    'spreadsheetId,sheets(properties(sheetId,title,hidden,sheetType,gridProperties.rowCount),data.rowData.values.effectiveValue)';
  await clientAt(receiver.url).get({ spreadsheetId, ranges: ["'Bob''s sales / 2026'!A1:J1"], fields });
  expectSame((await receiver.waitFor(1))[0], googleSheets.probe!.build(config));
});

test('the Google Sheets connector writes the heading and formats times with the same requests as the library', async () => {
  const blank = { properties: { sheetId: 3, title: config.sheetName }, data: [{}] };
  const written = { updates: { updatedRows: 1, updatedRange: "'Bob''s sales / 2026'!A2:J2" } };
  const responses: object[] = [{ spreadsheetId, sheets: [blank] }, {}, written, {}];
  const { requests } = drive(googleSheets, config, [sampleEvent('payment.settled')], (_request, index) =>
    vendorResponse(200, responses[index]!),
  );
  for (const ours of requests.filter(({ url }) => url.endsWith(':batchUpdate'))) {
    await using receiver = await receiverOfJson();
    await clientAt(receiver.url).batchUpdate({ spreadsheetId, requestBody: JSON.parse(ours.body!) });
    const [theirs] = await receiver.waitFor(1);
    expectSame(theirs, ours);
    expect(JSON.parse(String(theirs?.body))).toEqual(JSON.parse(ours.body!));
  }
  expect(requests.filter(({ url }) => url.endsWith(':batchUpdate'))).toHaveLength(2);
});
