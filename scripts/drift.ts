/**
 * Regenerates all generated files in memory and compares them with the ones on disk: schema.graphql, the reference
 * pages in docs/, the typed documents, the types of SQL statements, and the migrations. Exits with 1 and lists what is
 * stale, and the statements that don't match the schema.
 */
import { readFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { generate } from '@graphql-codegen/cli';
import codegen from '../codegen.ts';
import { withMigratedDatabase } from './migrated-database.ts';
import { referencePages } from './reference-pages.ts';
import { compareWithMigrations, missingMigration } from './schema-diff.ts';
import {
  describeStatements,
  findUnchecked,
  loadStatements,
  STATEMENT_TYPES_FILE,
  staleStatements,
} from './statements.ts';
import { startThrowawayPostgres } from './throwaway-postgres.ts';

const ROOT = resolve(import.meta.dirname, '..');

type Artefact = { path: string; text: string; remedy: string };

const problems = findUnchecked();
const [ofDocuments, ofDatabase] = await Promise.all([codegenOutput(), databaseOutput()]);
for (const { path, text, remedy } of [...ofDocuments, ...ofDatabase, ...pages()]) {
  const committed = await readFile(join(ROOT, path), 'utf8').catch(() => undefined);
  if (committed === text) continue;
  problems.push(`${path} is ${committed === undefined ? 'missing' : 'stale'}. Run: ${remedy}`);
  if (path === STATEMENT_TYPES_FILE)
    for (const stale of staleStatements(committed ?? '', text)) problems.push(`${stale}: the types have changed`);
}
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;

/** Both need a PostgreSQL server. */
async function databaseOutput(): Promise<Artefact[]> {
  const server = await startThrowawayPostgres();
  try {
    const { difference } = await compareWithMigrations(server.url);
    if (difference) problems.push(missingMigration(difference));
    const statements = await loadStatements();
    const described = await withMigratedDatabase(server.url, (client) => describeStatements(client, statements));
    problems.push(...described.problems);
    return [{ path: STATEMENT_TYPES_FILE, text: described.text, remedy: 'npm run generate:sql' }];
  } finally {
    await server.stop();
  }
}

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
