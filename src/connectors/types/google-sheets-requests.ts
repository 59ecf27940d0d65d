import type { BuildContext, ConnectorEvent } from '../definition.ts';
import type { ConnectorRequest } from '../exchange.ts';
import { bearer } from '../shared/bearer.ts';
import { describeEvent } from '../shared/message.ts';
import { eventRow } from '../shared/row.ts';

/** The config fields that requests depend on. */
export type SheetPlace = { spreadsheetId: string; accessToken: string; sheetName?: string | undefined };

/** A sheet in the spreadsheet. Google identifies it by title in ranges, and by ID everywhere else. */
export type Tab = { sheetId: number; title: string };

/** A range of written rows, in Google's notation. The first column is usually A. */
export type WrittenRows = { firstColumn: number; firstRow: number; lastRow: number };

const HEADINGS = [
  'Event ID',
  'Type',
  'Time (UTC)',
  'Endpoint',
  'Customer',
  'Amount',
  'Currency',
  'Network',
  'Transaction',
  'Summary',
];
const TIME_COLUMN = HEADINGS.indexOf('Time (UTC)');
const LAST_COLUMN = String.fromCharCode('A'.charCodeAt(0) + HEADINGS.length - 1);

/** Enough for two thousand rows, even if people write longer text than event IDs into the first column. */
const MAX_COLUMN_BYTES = 1_048_576;

const MILLISECONDS_PER_DAY = 86_400_000;
/** The number of days from 1899-12-30, where Google Sheets starts counting, to 1970-01-01. */
const DAYS_BEFORE_1970 = 25_569;

/**
 * Reads the properties and the first row of the sheet with the configured name. Without one, the range has no sheet
 * name and refers to the first visible sheet
 * (https://developers.google.com/workspace/sheets/api/guides/concepts#expandable-1).
 */
export function findTab(config: SheetPlace): ConnectorRequest {
  const cells = `A1:${LAST_COLUMN}1`;
  const query = new URLSearchParams({
    ranges: config.sheetName === undefined ? cells : rangeOf(config.sheetName, cells),
    fields:
      'spreadsheetId,sheets(properties(sheetId,title,hidden,sheetType,gridProperties.rowCount),data.rowData.values.effectiveValue)',
  });
  return {
    method: 'GET',
    url: `${spreadsheetUrl(config)}?${query}`,
    headers: bearer(config.accessToken),
    step: 'tab',
  };
}

/** Writes the heading into the first row, in bold, and freezes that row. */
export function writeHeading(config: SheetPlace, { sheetId, title }: Tab): ConnectorRequest {
  const values = HEADINGS.map((heading) => ({
    userEnteredValue: { stringValue: heading },
    userEnteredFormat: { textFormat: { bold: true } },
  }));
  return batchUpdate(config, `heading:${sheetId}:${title}`, [
    {
      updateCells: {
        start: { sheetId, rowIndex: 0, columnIndex: 0 },
        rows: [{ values }],
        fields: 'userEnteredValue,userEnteredFormat.textFormat.bold',
      },
    },
    {
      updateSheetProperties: {
        properties: { sheetId, gridProperties: { frozenRowCount: 1 } },
        fields: 'gridProperties.frozenRowCount',
      },
    },
  ]);
}

/** Appends a row for each event. `RAW` stores text as is, so text from a payer is never evaluated as a formula. */
export function appendRows(
  config: SheetPlace,
  tab: Tab,
  events: readonly ConnectorEvent[],
  context: BuildContext,
  step = 'append',
): ConnectorRequest {
  const range = encodeURIComponent(rangeOf(tab.title, 'A1'));
  return {
    method: 'POST',
    url: `${spreadsheetUrl(config)}/values/${range}:append?valueInputOption=RAW&insertDataOption=INSERT_ROWS`,
    headers: { ...bearer(config.accessToken), 'content-type': 'application/json' },
    body: JSON.stringify({ majorDimension: 'ROWS', values: events.map((event) => cells(event, context)) }),
    step,
  };
}

/** Formats the times in these rows as dates. They are numbers, and `RAW` writes numbers without a format. */
export function formatTimes(config: SheetPlace, { sheetId }: Tab, rows: WrittenRows): ConnectorRequest {
  const column = rows.firstColumn + TIME_COLUMN;
  return batchUpdate(config, 'format', [
    {
      repeatCell: {
        range: {
          sheetId,
          startRowIndex: rows.firstRow - 1,
          endRowIndex: rows.lastRow,
          startColumnIndex: column,
          endColumnIndex: column + 1,
        },
        cell: { userEnteredFormat: { numberFormat: { type: 'DATE_TIME', pattern: 'yyyy-mm-dd hh:mm:ss' } } },
        fields: 'userEnteredFormat.numberFormat',
      },
    },
  ]);
}

/** Reads the event IDs from a row to the end of the sheet. */
export function readBack(config: SheetPlace, tab: Tab, firstRow: number): ConnectorRequest {
  const ids = encodeURIComponent(rangeOf(tab.title, `A${Math.max(firstRow, 1)}:A`));
  return {
    method: 'GET',
    url: `${spreadsheetUrl(config)}/values/${ids}?majorDimension=COLUMNS&prettyPrint=false`,
    headers: bearer(config.accessToken),
    maxResponseBytes: MAX_COLUMN_BYTES,
    step: 'read-back',
  };
}

function batchUpdate(config: SheetPlace, step: string, requests: readonly object[]): ConnectorRequest {
  return {
    method: 'POST',
    url: `${spreadsheetUrl(config)}:batchUpdate`,
    headers: { ...bearer(config.accessToken), 'content-type': 'application/json' },
    body: JSON.stringify({ requests }),
    step,
  };
}

function cells(event: ConnectorEvent, context: BuildContext): (string | number)[] {
  const row = eventRow(event);
  return [
    row.event_id,
    row.kind,
    Date.parse(row.occurred_at) / MILLISECONDS_PER_DAY + DAYS_BEFORE_1970,
    text(row.endpoint_id),
    text(row.customer),
    // RAW stores a string as text, which SUM ignores. A number with up to 6 decimals is precise enough for a sheet.
    row.amount_usd === null ? '' : Number(row.amount_usd),
    text(row.currency),
    text(row.network),
    text(row.tx_hash),
    text(describeEvent(event, context).title),
  ];
}

/** RAW never runs formulas, but the sheet may be exported to a program that does (OWASP, CSV injection). */
function text(value: string | null): string {
  return value === null ? '' : value.replace(/^(?=[=+\-@\t\r\n])/, "'");
}

function rangeOf(title: string, cellRange: string): string {
  return `'${title.replaceAll("'", "''")}'!${cellRange}`;
}

function spreadsheetUrl({ spreadsheetId }: SheetPlace): string {
  return `https://sheets.googleapis.com/v4/spreadsheets/${encodeURIComponent(spreadsheetId)}`;
}
