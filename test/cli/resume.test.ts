import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { cutToLastRow } from '../../src/cli/resume.ts';
import { EXPORT_FORMATS } from '../../src/rest/export/formats.ts';

const folder = mkdtempSync(join(tmpdir(), 'tollgate-resume-'));
const path = join(folder, 'file');
afterAll(() => rmSync(folder, { recursive: true }));

const COLUMNS = ['id', 'text', 'other'].map((name) => ({ name, isTime: false }));
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('"', '\r', '\n', '\r\n', ',', "'", '=', 'é', '\uFEFF', 'x') }),
);
const rows = fc
  .array(fc.record({ text, other: text }), { maxLength: 5 })
  .map((texts) => texts.map((cells, index) => ({ id: `evt_${index}`, ...cells })));

test.each(['csv', 'jsonl'] as const)('%s that is cut at any byte is continued to the same file', async (format) => {
  const { head, rows: write } = EXPORT_FORMATS[format];
  await fc.assert(
    fc.asyncProperty(rows, fc.nat(), fc.boolean(), async (all, cut, hasMark) => {
      const whole = Buffer.from(head(COLUMNS) + write(all, COLUMNS));
      const kept = whole.subarray(0, cut % (whole.length + 1));
      const mark = Buffer.from(hasMark && kept.length > 0 ? '\uFEFF' : '');
      writeFileSync(path, Buffer.concat([mark, kept]));
      const after = await cutToLastRow(path, format);
      const left = readFileSync(path);
      const from = all.findIndex(({ id }) => id === after) + 1;
      const rest = (from === 0 ? head(COLUMNS) : '') + write(all.slice(from), COLUMNS);
      const resumed = Buffer.concat([left, Buffer.from(rest)]).toString();
      expect(resumed.replace(/^\uFEFF/, '')).toBe(whole.toString());
      // Nothing that was complete is downloaded again.
      if (from > 0) expect(whole.length - Buffer.byteLength(rest)).toBeLessThanOrEqual(kept.length);
      if (kept.length === whole.length && all.length > 0) expect(rest).toBe('');
    }),
  );
});

test('a missing file has no rows', async () => {
  expect(await cutToLastRow(join(folder, 'missing'), 'csv')).toBeUndefined();
});

test.each([
  ['csv', '{"id":"evt_1"}\n'],
  ['csv', 'name,id\r\nx,evt_1\r\n'],
  ['csv', 'notes'],
  ['csv', 'id,text\r\n\r\n'],
  ['csv', 'id,text\nevt_1,x\nevt_2,y\n'],
  ['csv', 'id,text\nevt_1,x\nevt_2'],
  ['jsonl', 'id,text\r\nevt_1,x\r\n'],
  ['jsonl', '{"id":"evt_1"}\n[]\n'],
] as const)('a file that isn’t an export in %s is refused, and doesn’t change: %j', async (format, content) => {
  writeFileSync(path, content);
  await expect(cutToLastRow(path, format)).rejects.toThrow('is not an export in');
  expect(readFileSync(path, 'utf8')).toBe(content);
});
