import { stringify } from 'csv-stringify/sync';

/** A row of an export: an item of the list, as REST returns it. */
export type Row = Readonly<Record<string, unknown>>;

/** A field of the rows. */
export type Column = {
  name: string;
  /** Whether its values are times, in ISO 8601 and UTC. */
  isTime: boolean;
};

/** How an export is written. Every row ends with a line break. */
export type ExportFormat = {
  mediaType: string;
  /** The media type of rows without the text before them. */
  mediaTypeOfRows: string;
  /** The text before the rows. */
  head(columns: readonly Column[]): string;
  rows(rows: readonly Row[], columns: readonly Column[]): string;
};

export const EXPORT_FORMATS = {
  csv: {
    mediaType: 'text/csv; charset=utf-8; header=present',
    mediaTypeOfRows: 'text/csv; charset=utf-8; header=absent',
    head: (columns) => csv([columns.map(({ name, isTime }) => (isTime ? `${name} (UTC)` : name))]),
    rows: (rows, columns) =>
      csv(rows.map((row) => columns.map(({ name, isTime }) => (isTime ? dateCell(row[name]) : row[name])))),
  },
  jsonl: {
    mediaType: 'application/jsonl; charset=utf-8',
    mediaTypeOfRows: 'application/jsonl; charset=utf-8',
    head: () => '',
    rows: (rows) => rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
  },
} as const satisfies Record<string, ExportFormat>;

export type ExportFormatName = keyof typeof EXPORT_FORMATS;

/**
 * A time as spreadsheets read it in every language, to the second. They read ISO 8601 with a time zone as text, and show
 * times with fractions of a second without their date.
 */
function dateCell(time: unknown): unknown {
  return typeof time === 'string' ? time.slice(0, 19).replace('T', ' ') : time;
}

/** Characters that some programs split rows at, in addition to commas. */
const OTHER_SEPARATORS = /[;\t|]/;

/**
 * RFC 4180. Text with one of these separators is quoted, so that no part of it becomes a cell, which could be a
 * formula. Null becomes an empty cell, an empty string becomes `""`, and lists and objects become JSON.
 */
function csv(records: readonly (readonly unknown[])[]): string {
  return stringify(records as unknown[][], {
    record_delimiter: '\r\n',
    quote_record_delimiter: true,
    quoted_match: OTHER_SEPARATORS,
    cast: {
      boolean: String,
      string: (text) => (text === '' ? { value: '', quoted_empty: true } : withoutFormula(text)),
      object: (value) => JSON.stringify(value),
    },
  });
}

/**
 * Text that spreadsheets mistake for a formula, after any number of apostrophes:
 * https://owasp.org/www-community/attacks/CSV_Injection Japanese versions also accept the wide forms.
 */
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/;
const NUMBER = /^[+-]?\d+(\.\d+)?$/;

/**
 * Makes text safe for spreadsheets, which might run it as a formula. Text that could be a formula gets an apostrophe,
 * and so does text that consists of apostrophes followed by a possible formula. As a result, removing one apostrophe
 * always restores the original.
 */
function withoutFormula(text: string): string {
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
}
