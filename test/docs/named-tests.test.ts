import { readFile } from 'node:fs/promises';
import { join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, readPage } from './pages.ts';

const PAGES = ['docs/guarantees.md', 'docs/security.md'];
const pages = await Promise.all(PAGES.map(async (page) => [page, await readPage(page)] as const));
const quotes = pages.flatMap(([page, text]) =>
  text
    .split('\n')
    .filter((line) => line.includes('](../test/'))
    .map((line) => [page, line] as const),
);

test.each(PAGES)('%s quotes tests', (page) => {
  expect(quotes.filter((quote) => quote[0] === page).length).toBeGreaterThan(15);
});

test.each(quotes)('%s quotes a test that exists: %s', async (_page, line) => {
  const [, path, title] = /^- \[[^\]]+\]\(\.\.\/(test\/[^)]+)\): "([^"]+)"$/.exec(line) ?? [];
  expect(title, 'a line has one link and one title').toBeDefined();
  const text = await readFile(join(ROOT, normalize(path!)), 'utf8');
  expect([`'${title}'`, `"${title}"`].some((literal) => text.includes(literal))).toBe(true);
});
