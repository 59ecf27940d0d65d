/**
 * Regenerates all generated files in memory and compares them with the ones on disk: schema.graphql, the reference
 * pages in docs/, the typed documents, and the migrations. Exits with 1 and lists what is stale.
 */
import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { generate } from '@graphql-codegen/cli';
import codegen from '../codegen.ts';
import { referencePages } from './reference-pages.ts';

const ROOT = resolve(import.meta.dirname, '..');

type Artefact = { path: string; text: string; remedy: string };

const artefacts: Artefact[] = [...(await codegenOutput()), ...pages()];
const checks = artefacts.map(async ({ path, text, remedy }) => {
  const committed = await readFile(join(ROOT, path), 'utf8').catch(() => undefined);
  if (committed === text) return true;
  console.error(`${path} is ${committed === undefined ? 'missing' : 'stale'}. Run: ${remedy}`);
  return false;
});
const isCurrent = (await Promise.all(checks)).every(Boolean);

// The script itself prints what is missing.
const migrations = spawnSync(process.execPath, [join(ROOT, 'scripts/migration.ts'), '--check'], { stdio: 'inherit' });
if (!isCurrent || migrations.status !== 0) process.exitCode = 1;

async function codegenOutput(): Promise<Artefact[]> {
  const files: { filename: string; content: string }[] = await generate({ ...codegen, silent: true, cwd: ROOT }, false);
  return files.map(({ filename, content }) => ({
    path: relative(ROOT, resolve(ROOT, filename)),
    text: content,
    remedy: 'npm run generate',
  }));
}

function pages(): Artefact[] {
  return [...referencePages()].map(([path, text]) => ({ path, text, remedy: 'npm run generate:docs' }));
}
