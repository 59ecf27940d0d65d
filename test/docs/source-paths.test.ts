import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listPages, ROOT, readPage } from './pages.ts';

/** Created by `npm run generate` and not committed. */
const GENERATED = 'src/generated/';
/** A path from the root of the repository, in text or in a command. Another test checks links. */
const PATH = /(?<![\w@./-])(?:src|scripts|test|bench|prisma)\/[\w./<>*-]*[\w/>*]/g;

test.each(await listPages())('every source path that %s mentions exists', async (page) => {
  const missing: string[] = [];
  for (const [path] of (await readPage(page)).matchAll(PATH)) {
    // Only the part before a placeholder, as in `src/features/<name>/service.ts`, can be checked.
    const fixed = path.replace(/[^/]*[<*].*$/, '');
    if (!fixed.startsWith(GENERATED) && !(await exists(fixed))) missing.push(path);
  }
  expect(missing).toEqual([]);
});

function exists(path: string): Promise<boolean> {
  return stat(join(ROOT, path)).then(
    () => true,
    () => false,
  );
}
