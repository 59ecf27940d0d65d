import { readFile } from 'node:fs/promises';
import { join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, readPage } from './pages.ts';

const lines = (await readPage('docs/guarantees.md')).split('\n').filter((line) => line.includes('](../test/'));

test('the page on guarantees quotes tests', () => {
  expect(lines.length).toBeGreaterThan(15);
});

test.each(lines)('the page on guarantees quotes a test that exists: %s', async (line) => {
  const [, path, title] = /^- \[[^\]]+\]\(\.\.\/(test\/[^)]+)\): "([^"]+)"$/.exec(line) ?? [];
  expect(title, 'a line has one link and one title').toBeDefined();
  const text = await readFile(join(ROOT, normalize(path!)), 'utf8');
  expect([`'${title}'`, `"${title}"`].some((literal) => text.includes(literal))).toBe(true);
});
