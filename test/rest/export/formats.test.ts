import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Column, EXPORT_FORMATS, type Row } from '../../../src/rest/export/formats.ts';

const columnsOf = (...names: string[]): Column[] => names.map((name) => ({ name, isTime: false }));
const COLUMNS = columnsOf('text', 'other', 'count', 'flag', 'data');
const { csv, jsonl } = EXPORT_FORMATS;
const csvOf = (rows: Row[]) => csv.head(COLUMNS) + csv.rows(rows, COLUMNS);

/** Text that some programs read as a formula, quote, line end, or separator. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom('=', '+', '-', '@', '\t', '\r', '\n', "'", '"', ',', ';', '|', '＝', '1', '.', 'a', ' '),
  }),
);
const row = fc.record({
  text,
  other: fc.option(text),
  count: fc.nat(),
  flag: fc.boolean(),
  data: fc.oneof(fc.constant(null), fc.dictionary(text, text), fc.array(text)),
});

/** Removes the apostrophe that protects against formulas. */
const restored = (cell: string) => cell.replace(/^'('*[=+\-@\t\r\n＝＋－＠])/, '$1');
const isFormula = (cell: string) => /^[=+\-@\t\r\n＝＋－＠]/.test(cell) && !/^[+-]?\d+(\.\d+)?$/.test(cell);

test('a CSV parser reads back exactly what was written', () => {
  fc.assert(
    fc.property(fc.array(row, { minLength: 1 }), (rows) => {
      const parsed = parse<Record<string, string>>(csvOf(rows), { columns: true, record_delimiter: '\r\n' });
      expect(parsed).toHaveLength(rows.length);
      for (const [index, { text: expected, other, count, flag, data }] of rows.entries()) {
        const found = parsed[index]!;
        expect(restored(found.text!)).toBe(expected);
        expect(restored(found.other!)).toBe(other ?? '');
        expect(found).toMatchObject({ count: String(count), flag: String(flag) });
        expect(found.data).toBe(data === null ? '' : JSON.stringify(data));
      }
    }),
  );
});

test('no cell can be a formula in a spreadsheet', () => {
  fc.assert(
    fc.property(fc.array(row, { minLength: 1 }), (rows) => {
      const cells = parse(csvOf(rows), { record_delimiter: '\r\n' }).flat();
      expect(cells.filter(isFormula)).toEqual([]);
    }),
  );
});

// When LibreOffice opens a file, it can split cells at several separators.
test.each([[[',', ';']], [[',', '\t']], [[',', '|']], [[',', ';', '\t', '|']]])(
  'no cell is split, or can be a formula, in a program that splits at %j',
  (delimiter) => {
    fc.assert(
      fc.property(fc.array(row, { minLength: 1 }), (rows) => {
        const records: string[][] = parse(csvOf(rows), { delimiter, record_delimiter: '\r\n' });
        expect(records.map(({ length }) => length)).toEqual(records.map(() => COLUMNS.length));
        expect(records.flat().filter(isFormula)).toEqual([]);
      }),
    );
  },
);

test.each([
  ['=1+1', "'=1+1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['+cmd|x', `"'+cmd|x"`],
  ['-2+3', "'-2+3"],
  ['＝1', "'＝1"],
  ["'=1", "''=1"],
  ["it's", "it's"],
  ["'quoted'", "'quoted'"],
  ['-12.50', '-12.50'],
  ['+1', '+1'],
  ['0.000001', '0.000001'],
  ['79228162514264337593543950336', '79228162514264337593543950336'],
])('the text %s is %s in CSV', (given, expected) => {
  expect(csv.rows([{ text: given }], columnsOf('text'))).toBe(`${expected}\r\n`);
});

test.each(['x;=1+1', 'x\t=1+1', 'x|=1+1'])('the text %j is quoted in CSV', (given) => {
  expect(csv.rows([{ text: given }], columnsOf('text'))).toBe(`"${given}"\r\n`);
});

test('CSV distinguishes empty text from null, and has lists and objects as JSON', () => {
  const rows = [{ text: '', other: null, count: 1, flag: false, data: ['a', { b: '"' }] }];
  expect(csv.rows(rows, COLUMNS)).toBe(`"",,1,false,"[""a"",{""b"":""\\""""}]"\r\n`);
});

test('line breaks in a value don’t end a row', () => {
  expect(csv.rows([{ text: 'a\nb' }, { text: 'a\rb' }, { text: 'a\r\nb' }], columnsOf('text'))).toBe(
    '"a\nb"\r\n"a\rb"\r\n"a\r\nb"\r\n',
  );
  expect(jsonl.rows([{ text: 'a\r\nb' }, { text: 'c' }])).toBe('{"text":"a\\r\\nb"}\n{"text":"c"}\n');
});

test('times have no time zone and no fraction of a second in CSV, whose header says that they are in UTC', () => {
  const columns = [{ name: 'settledAt', isTime: true }, ...columnsOf('data')];
  const time = '2026-01-02T03:04:05.678Z';
  const rows = [
    { settledAt: time, data: time },
    { settledAt: null, data: { at: time } },
  ];
  expect(csv.head(columns) + csv.rows(rows, columns)).toBe(
    `settledAt (UTC),data\r\n2026-01-02 03:04:05,${time}\r\n,"{""at"":""${time}""}"\r\n`,
  );
  expect(jsonl.rows(rows)).toBe(rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
});
