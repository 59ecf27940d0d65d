import { readFile } from 'node:fs/promises';
import { join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, readPage } from './pages.ts';

test('every test named on the gateway page exists', async () => {
  const page = (await readPage('docs/gateway.md')).replaceAll(/\s+/g, ' ');
  const named = [...page.matchAll(/\]\(\.\.\/(test\/[^)]+)\)[^"]*"([^"]+)"/g)];
  expect(named.length).toBeGreaterThan(15);
  const missing: string[] = [];
  for (const [, path, title] of named) {
    const text = await readFile(join(ROOT, normalize(path!)), 'utf8');
    if (!text.includes(`'${title}'`) && !text.includes(`"${title}"`)) missing.push(`${path}: ${title}`);
  }
  expect(missing).toEqual([]);
});
