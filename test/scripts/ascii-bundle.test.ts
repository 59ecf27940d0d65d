import { expect, test } from 'vitest';
import { toAscii } from '../../scripts/ascii-bundle.ts';

/** Runs a module and returns its default export. */
async function exportOf(code: string): Promise<unknown> {
  const { default: value } = await import(`data:text/javascript;charset=utf-8,${encodeURIComponent(code)}`);
  return value;
}

test.each([
  ['a string', "'it’s 😀'"],
  ['a string with backslashes', String.raw`'\’ \\’ \\\’ \n’'`],
  ['a property name', "({ '→': 1 })"],
  ['a template', '`x’ ’`'],
  ['a regular expression', "'a😂b’'.replace(/[😀-😃’]/gu, '')"],
])('%s in the build has the same value in ASCII', async (_what, expression) => {
  const code = `export default ${expression};`;
  const ascii = toAscii(code);
  expect(ascii).toMatch(/^\p{ASCII}+$/u);
  expect(await exportOf(ascii)).toEqual(await exportOf(code));
});

test('a tagged template in the build keeps its raw text', async () => {
  const code = 'export default String.raw`’\\n`;';
  expect(await exportOf(toAscii(code))).toBe('’\\n');
});
