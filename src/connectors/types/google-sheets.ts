import { z } from 'zod';
import {
  type BuildContext,
  type ClassifyContext,
  type ConnectorMemory,
  defineConnector,
  type Outcome,
} from '../definition.ts';
import type { ConnectorResponse } from '../exchange.ts';
import { headerSecretField, textField } from '../fields.ts';
import { failedProbe, parseJson, reason, retry, valueAt, vendorText } from '../shared/classify.ts';
import { requireCredential } from '../shared/credential-rule.ts';
import { grantField } from '../shared/oauth-client.ts';
import { googleCredential, serviceAccountKeyField } from './google-credential.ts';
import { classifyGoogleError, googleError } from './google-error.ts';
import {
  appendRows,
  findTab,
  formatTimes,
  readBack,
  type Tab,
  type WrittenRows,
  writeHeading,
} from './google-sheets-requests.ts';

/**
 * The read-back starts this many rows above the last row we wrote, in case rows were deleted. If that row is unknown,
 * it reads the end of the grid, where a new sheet has 1,000 blank rows. It never reads the whole column, because the
 * size of a response is limited.
 */
const ROWS_ABOVE_LAST_WRITTEN = 1000;
const ROWS_ABOVE_END_OF_GRID = 1900;

const MISSING =
  "Google can't find the spreadsheet. Restore it from the trash, or change the spreadsheet ID. Then resume the connector.";
const UNEXPECTED = retry('Google Sheets returned an unexpected response.');

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
      'An OAuth access token with the spreadsheets scope. It expires after about an hour, so we recommend using a service account key instead.',
  }).optional(),
  sheetName: textField({
    title: 'Sheet name',
    description: 'The sheet (tab) that receives one row per event. Default: the first visible sheet.',
    example: 'Payments',
    maxLength: 100,
  }).optional(),
  serviceAccountKey: serviceAccountKeyField('edit the spreadsheet'),
  grant: grantField(),
});
const config = requireCredential(fields, ['serviceAccountKey']);
type Config = z.infer<typeof config>;
type Context = ClassifyContext<Config>;

/** Appends rows through `values.append` (https://developers.google.com/workspace/sheets/api/reference/rest/v4/spreadsheets.values/append). */
export const googleSheets = defineConnector<Config>({
  type: 'google-sheets',
  title: 'Google Sheets',
  category: 'Data',
  description: 'Adds a row per event to a Google spreadsheet.',
  documentationUrl: 'https://developers.google.com/workspace/sheets/api/guides/authorizing',
  config,
  credential: googleCredential('https://www.googleapis.com/auth/spreadsheets'),
  supportsEvent: () => true,
  // Google allows 60 writes per minute per user, so rows are collected for a few seconds and written together.
  batch: { maxEvents: 500, windowSeconds: 10 },
  // The limit on each user's writes.
  vendorLimit: {
    count: 60,
    perSeconds: 60,
    requestsPerDelivery: 2,
    concurrency: 1,
    documentationUrl: 'https://developers.google.com/workspace/sheets/api/limits',
  },
  timeoutSeconds: 30,

  build(events, config, context) {
    const tab = knownTab(config, context.memory);
    if (!tab) return findTab(config);
    if (isFirstTry(context)) return appendRows(config, tab, events, context);
    const lastRow = Number(context.memory[rowKey(config, tab)] ?? 0);
    return lastRow > 0 ? readBack(config, tab, lastRow - ROWS_ABOVE_LAST_WRITTEN) : findTab(config);
  },

  classify(response, context) {
    const [step = '', sheetId, ...title] = context.step.split(':');
    if (step === 'heading')
      return afterHeading(response, context, { sheetId: Number(sheetId), title: title.join(':') });
    if (step === 'format') return afterFormat(response, context);
    if (response.statusCode !== 200) return afterFailure(response, context);
    if (step === 'tab') return afterTab(response, context);
    return step === 'read-back' ? afterReadBack(response, context) : afterAppend(response, context);
  },

  probe: {
    build: findTab,
    classify(response, config) {
      if (response.statusCode !== 200)
        return failedProbe('Google Sheets', classifyError(response, config, new Date(0)));
      const tab = tabIn(response, config);
      if (tab === undefined) return failedProbe('Google Sheets', UNEXPECTED);
      if (tab === null) return { ok: false, message: noSuchTab(config) };
      return { ok: true, message: `Google Sheets found the spreadsheet and the sheet "${vendorText(tab.title)}".` };
    },
  },
});

/** Google may have written the rows even if it returned a 5xx, so every retry reads the sheet first. */
function isFirstTry({ previousAttemptAmbiguous, attemptNumber }: BuildContext): boolean {
  return !previousAttemptAmbiguous && attemptNumber === 1;
}

function afterTab(response: ConnectorResponse, context: Context): Outcome {
  const { config, events } = context;
  const tab = tabIn(response, config);
  if (tab === undefined) return UNEXPECTED;
  if (tab === null) return { kind: 'pause', reason: reason(noSuchTab(config)) };
  // Nothing has been written yet. The sheet is remembered only once it has its heading.
  if (tab.isBlank) return { kind: 'next', request: writeHeading(config, tab) };
  const request = isFirstTry(context)
    ? appendRows(config, tab, events, context)
    : readBack(config, tab, tab.rowCount - ROWS_ABOVE_END_OF_GRID);
  return { kind: 'next', request, remember: tabMemory(config, tab) };
}

/** A sheet can have too few columns for the heading, but rows can still be appended to it. */
function afterHeading(response: ConnectorResponse, context: Context, tab: Tab): Outcome {
  const { config, events } = context;
  if (response.statusCode !== 200 && response.statusCode !== 400) return afterFailure(response, context);
  return {
    kind: 'next',
    request: appendRows(config, tab, events, context),
    remember: tabMemory(config, tab),
  };
}

function afterReadBack(response: ConnectorResponse, context: Context): Outcome {
  const { config, events, memory } = context;
  const missing = events.filter((event) => !response.body.includes(`"${event.id}"`));
  if (missing.length === 0) return { kind: 'delivered', note: 'The rows already existed.' };
  // The rest of the list may have the missing rows, and rows must not be appended twice.
  if (parseJson(response.body) === undefined) return retry("Google Sheets' list of rows couldn't be read.");
  const tab = knownTab(config, memory);
  const request = tab ? appendRows(config, tab, missing, context, 'append-missing') : findTab(config);
  return { kind: 'next', request };
}

function afterAppend(response: ConnectorResponse, { config, events, step, memory }: Context): Outcome {
  const updates = valueAt(parseJson(response.body), 'updates');
  const rowCount = Number(valueAt(updates, 'updatedRows') ?? 0);
  if (rowCount === 0 || (step === 'append' && rowCount !== events.length)) {
    return retry("Google Sheets didn't confirm every row.");
  }
  const tab = knownTab(config, memory);
  const rows = writtenRows(String(valueAt(updates, 'updatedRange')));
  if (!tab || !rows) return { kind: 'delivered' };
  const remember = { [rowKey(config, tab)]: String(rows.lastRow) };
  return { kind: 'next', request: formatTimes(config, tab, rows), remember };
}

/**
 * The rows have already been written, so nothing is sent again. If the sheet's ID is no longer valid, the next delivery
 * looks it up.
 */
function afterFormat({ statusCode }: ConnectorResponse, { config }: Context): Outcome {
  if (statusCode === 200) return { kind: 'delivered' };
  const remember = statusCode === 400 ? { remember: { [tabKey(config)]: '' } } : {};
  return { kind: 'delivered', note: "Google Sheets stored the rows but didn't format their times.", ...remember };
}

function afterFailure(response: ConnectorResponse, context: Context): Outcome {
  const { config, step, now } = context;
  const isBeyondGrid = step === 'read-back' && /exceeds grid limits/i.test(response.body);
  // The first visible sheet was renamed or deleted.
  const isOtherTab = config.sheetName === undefined && step !== 'tab' && isUnknownRange(response);
  if (response.statusCode === 400 && (isBeyondGrid || isOtherTab)) return { kind: 'next', request: findTab(config) };
  return classifyError(response, config, now);
}

function classifyError(response: ConnectorResponse, config: Config, now: Date): Outcome {
  if (isUnknownRange(response)) return { kind: 'pause', reason: reason(noSuchTab(config)) };
  const { message } = googleError(response.body, [config.accessToken]);
  if (response.statusCode === 400 && /limit of .{0,50}cells/i.test(message)) {
    return { kind: 'pause', reason: 'The spreadsheet is full. Point the connector to a new one.' };
  }
  return classifyGoogleError(response, config.accessToken, now, MISSING);
}

function isUnknownRange({ statusCode, body }: ConnectorResponse): boolean {
  return statusCode === 400 && /unable to parse range/i.test(googleError(body, []).message);
}

/**
 * The sheet in a response to `findTab`. Null if the spreadsheet has no visible sheet, undefined if the response isn't
 * from Google.
 */
function tabIn(
  response: ConnectorResponse,
  { sheetName }: Config,
): (Tab & { rowCount: number; isBlank: boolean }) | null | undefined {
  const json = parseJson(response.body);
  if (typeof valueAt(json, 'spreadsheetId') !== 'string') return undefined;
  const sheets = valueAt(json, 'sheets');
  const sheet = (Array.isArray(sheets) ? sheets : [])
    .filter((each) => (valueAt(each, 'properties', 'sheetType') ?? 'GRID') === 'GRID')
    .find((each) =>
      sheetName === undefined
        ? valueAt(each, 'properties', 'hidden') !== true
        : valueAt(each, 'properties', 'title') === sheetName,
    );
  const title = valueAt(sheet, 'properties', 'title');
  if (typeof title !== 'string') return null;
  const cells = valueAt(sheet, 'data', 0, 'rowData', 0, 'values');
  return {
    title,
    sheetId: Number(valueAt(sheet, 'properties', 'sheetId') ?? 0),
    rowCount: Number(valueAt(sheet, 'properties', 'gridProperties', 'rowCount') ?? 0),
    isBlank: !Array.isArray(cells) || !cells.some((cell) => valueAt(cell, 'effectiveValue') !== undefined),
  };
}

/** Reads a range such as `'My sheet'!A10:J12`. */
function writtenRows(range: string): WrittenRows | undefined {
  const [, column, firstRow, lastRow] = /!([A-Z])(\d+):[A-Z]+(\d+)$/.exec(range) ?? [];
  if (!column) return undefined;
  return {
    firstColumn: column.charCodeAt(0) - 'A'.charCodeAt(0),
    firstRow: Number(firstRow),
    lastRow: Number(lastRow),
  };
}

function noSuchTab({ sheetName }: Config): string {
  if (sheetName === undefined) return 'The spreadsheet has no visible sheet. Add one, then resume the connector.';
  return `The spreadsheet has no sheet named "${vendorText(sheetName)}". Add it, or change the sheet name.`;
}

function knownTab(config: Config, memory: ConnectorMemory): Tab | undefined {
  const [, sheetId, title] = /^(\d+):(.+)$/s.exec(memory[tabKey(config)] ?? '') ?? [];
  return title === undefined ? undefined : { sheetId: Number(sheetId), title };
}

function tabMemory(config: Config, { sheetId, title }: Tab): Record<string, string> {
  return { [tabKey(config)]: `${sheetId}:${title}` };
}

function tabKey({ spreadsheetId, sheetName = '' }: Config): string {
  return `tab:${spreadsheetId}:${sheetName}`;
}

function rowKey({ spreadsheetId }: Config, { title }: Tab): string {
  return `lastRow:${spreadsheetId}:${title}`;
}
