import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listPages, ROOT, readPage } from './pages.ts';

/** Made by `npm run generate`, not committed. */
const GENERATED = 'src/generated/';
/** A path in backticks. One with a placeholder, such as `src/features/<name>/service.ts`, stands for its fixed beginning. */
const PATH = /`((?:src|scripts|test|bench|prisma)\/[^`\s]*)`/g;

test.each(await listPages())('every source path that %s mentions exists', async (page) => {
  const missing: string[] = [];
  for (const [, path] of (await readPage(page)).matchAll(PATH)) {
    const fixed = path!.replace(/[^/]*<.*$/, '');
    if (!fixed.startsWith(GENERATED) && !(await exists(fixed))) missing.push(path!);
  }
  expect(missing).toEqual([]);
});

function exists(path: string): Promise<boolean> {
  return stat(join(ROOT, path)).then(
    () => true,
    () => false,
  );
}
