/** Writes the committed files that are generated from the code: schema.graphql and the reference pages in docs/. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { referencePages } from './reference-pages.ts';

const ROOT = resolve(import.meta.dirname, '..');

for (const [path, text] of referencePages()) {
  await mkdir(dirname(join(ROOT, path)), { recursive: true });
  await writeFile(join(ROOT, path), text);
}
