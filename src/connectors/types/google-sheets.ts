import { z } from 'zod';
import {
  type BuildContext,
  type ConnectorEvent,
  type ConnectorRequest,
  type ConnectorResponse,
  defineConnector,
  type Outcome,
} from '../definition.ts';
import { headerSecretField, textField } from '../fields.ts';
import { bearer } from '../shared/bearer.ts';
import { failedProbe, parseJson, reason, retry, valueAt, vendorText } from '../shared/classify.ts';
import { requireCredential } from '../shared/credential-rule.ts';
import { describeEvent } from '../shared/message.ts';
import { grantField } from '../shared/oauth-client.ts';
import { eventRow } from '../shared/row.ts';
import { googleCredential, serviceAccountKeyField } from './google-credential.ts';
import { classifyGoogleError, googleError } from './google-error.ts';

const DEFAULT_SHEET = 'Sheet1';
/**
 * The read-back starts this many rows above the last row we wrote, in case rows were deleted. If that row is unknown,
 * it reads the end of the grid, where a new sheet has 1,000 blank rows. It never reads the whole column, because the
 * size of a response is limited.
 */
const ROWS_ABOVE_LAST_WRITTEN = 1000;
const ROWS_ABOVE_END_OF_GRID = 1900;

const fields = z.strictObject({
  spreadsheetId: textField({
    title: 'Spreadsheet ID',
    description: "The part of the spreadsheet's URL between /d/ and /edit.",
    example: '1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms',
    pattern: /^[A-Za-z0-9_-]{20,}$/,
    hint: 'Must be the ID from the URL, not the whole URL.',
    maxLength: 200,
  }),
  accessToken: headerSecretField({
    title: 'Access token',
    description:
      'An OAuth access token with the spreadsheets scope. It expires after about an hour, so a service account key is better.',
  }).optional(),
  sheetName: textField({
    title: 'Sheet name',
    description: `The sheet (tab) that receives one row per event. Default: ${DEFAULT_SHEET}.`,
    example: DEFAULT_SHEET,
    maxLength: 100,
  }).optional(),
  serviceAccountKey: serviceAccountKeyField('edit the spreadsheet'),
  grant: grantField(),
});
const config = requireCredential(fields, ['serviceAccountKey']);
type Config = z.infer<typeof config>;

/** Appends rows through `values.append` (https://developers.google.com/workspace/sheets/api/reference/rest/v4/spreadsheets.values/append). */
export const googleSheets = defineConnector<Config>({
  type: 'google-sheets',
  title: 'Google Sheets',
  category: 'Data',
  description: 'Adds a row per event to a Google spreadsheet.',
  documentationUrl: 'https://developers.google.com/workspace/sheets/api/guides/authorizing',
  config,
  credential: googleCredential('https://www.googleapis.com/auth/spreadsheets'),
  carries: () => true,
  // Google allows 60 writes per minute per user, so rows are collected for a few seconds and written together.
  batch: { maxEvents: 500, windowSeconds: 10 },
  // The limit on writes for each user.
  vendorLimit: {
    count: 60,
    perSeconds: 60,
    concurrency: 1,
    documentationUrl: 'https://developers.google.com/workspace/sheets/api/limits',
  },
  timeoutSeconds: 30,

  build(events, config, context) {
    const { previousAttemptAmbiguous, attemptNumber, memory } = context;
    // Google may have written the rows even if it returned a 5xx, so every retry reads the sheet first.
    if (!previousAttemptAmbiguous && attemptNumber === 1) return append(events, config, context);
    const lastRow = Number(memory[memoryKey(config)] ?? 0);
    return lastRow > 0 ? readBack(config, lastRow - ROWS_ABOVE_LAST_WRITTEN) : findTabs(config, 'grid');
  },

  classify(response, context) {
    const { config, events, step, now } = context;
    if (response.statusCode === 400 && step === 'read-back' && /exceeds grid limits/i.test(response.body)) {
      return { kind: 'next', request: findTabs(config, 'grid') };
    }
    if (response.statusCode !== 200) return classifyError(response, config, now);
    if (step === 'grid') {
      const rowCount = tabsOf(response).get(sheetName(config));
      if (rowCount === undefined) return { kind: 'pause', reason: reason(noSuchTab(config)) };
      return { kind: 'next', request: readBack(config, rowCount - ROWS_ABOVE_END_OF_GRID) };
    }
    if (step === 'read-back') {
      const missing = events.filter((event) => !response.body.includes(`"${event.id}"`));
      if (missing.length === 0) return { kind: 'delivered', note: 'The rows already existed.' };
      return { kind: 'next', request: append(missing, config, context, 'append-missing') };
    }
    const updates = valueAt(parseJson(response.body), 'updates');
    const rowCount = Number(valueAt(updates, 'updatedRows') ?? 0);
    if (rowCount === 0 || (step === 'append' && rowCount !== events.length)) {
      return retry("Google Sheets didn't confirm every row.");
    }
    const lastRow = /:[A-Z]+(\d+)$/.exec(String(valueAt(updates, 'updatedRange')))?.[1];
    return { kind: 'delivered', ...(lastRow && { remember: { [memoryKey(config)]: lastRow } }) };
  },

  probe: {
    build: (config) => findTabs(config),
    classify(response, config) {
      if (response.statusCode !== 200) {
        return failedProbe('Google Sheets', classifyError(response, config, new Date(0)));
      }
      if (!tabsOf(response).has(sheetName(config))) return { ok: false, message: noSuchTab(config) };
      return { ok: true, message: 'Google Sheets found the spreadsheet and the sheet.' };
    },
  },
});

function append(
  events: readonly ConnectorEvent[],
  config: Config,
  context: BuildContext,
  step = 'append',
): ConnectorRequest {
  return {
    method: 'POST',
    url: `${spreadsheetUrl(config)}/values/${range(config, 'A1')}:append?valueInputOption=RAW&insertDataOption=INSERT_ROWS`,
    headers: { ...bearer(config.accessToken), 'content-type': 'application/json' },
    body: JSON.stringify({ majorDimension: 'ROWS', values: events.map((event) => cells(event, context)) }),
    step,
  };
}

function readBack(config: Config, firstRow: number): ConnectorRequest {
  const ids = range(config, `A${Math.max(firstRow, 1)}:A`);
  return {
    method: 'GET',
    url: `${spreadsheetUrl(config)}/values/${ids}?majorDimension=COLUMNS&prettyPrint=false`,
    headers: bearer(config.accessToken),
    step: 'read-back',
  };
}

function findTabs(config: Config, step?: string): ConnectorRequest {
  const fields = 'spreadsheetId,sheets.properties(title,gridProperties.rowCount)';
  return {
    method: 'GET',
    url: `${spreadsheetUrl(config)}?fields=${encodeURIComponent(fields)}`,
    headers: bearer(config.accessToken),
    ...(step && { step }),
  };
}

/** The number of rows in each sheet, by title. */
function tabsOf(response: ConnectorResponse): Map<unknown, number> {
  const sheets = valueAt(parseJson(response.body), 'sheets');
  if (!Array.isArray(sheets)) return new Map();
  return new Map(
    sheets.map((sheet) => [
      valueAt(sheet, 'properties', 'title'),
      Number(valueAt(sheet, 'properties', 'gridProperties', 'rowCount') ?? 0),
    ]),
  );
}

function cells(event: ConnectorEvent, context: BuildContext): (string | number)[] {
  const row = eventRow(event);
  return [
    row.event_id,
    row.kind,
    row.occurred_at,
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

function classifyError(response: ConnectorResponse, config: Config, now: Date): Outcome {
  const { message } = googleError(response.body, [config.accessToken]);
  if (response.statusCode === 400 && /unable to parse range/i.test(message)) {
    return { kind: 'pause', reason: reason(noSuchTab(config)) };
  }
  if (response.statusCode === 400 && /limit of .*cells/i.test(message)) {
    return { kind: 'pause', reason: 'The spreadsheet is full. Point the connector to a new one.' };
  }
  return classifyGoogleError(response, config.accessToken, now);
}

function noSuchTab(config: Config): string {
  return `The spreadsheet has no sheet named "${vendorText(sheetName(config))}". Add it, or change the sheet name.`;
}

function sheetName({ sheetName = DEFAULT_SHEET }: Config): string {
  return sheetName;
}

function range(config: Config, cellRange: string): string {
  return encodeURIComponent(`'${sheetName(config).replaceAll("'", "''")}'!${cellRange}`);
}

function spreadsheetUrl({ spreadsheetId }: Config): string {
  return `https://sheets.googleapis.com/v4/spreadsheets/${encodeURIComponent(spreadsheetId)}`;
}

function memoryKey(config: Config): string {
  return `lastRow:${config.spreadsheetId}:${sheetName(config)}`;
}
