/**
 * Writes what is generated from a migrated database: prisma/custom-objects.sql, and the types of the statements in
 * `src/`. Applies all migrations to a temporary database, and describes the result.
 */
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { CUSTOM_OBJECTS_FILE, describeCustomObjects } from './custom-objects.ts';
import { withMigratedDatabase } from './migrated-database.ts';
import { describeStatements, loadStatements, STATEMENT_TYPES_FILE } from './statements.ts';
import { startThrowawayPostgres } from './throwaway-postgres.ts';

const ROOT = resolve(import.meta.dirname, '..');

const server = await startThrowawayPostgres();
try {
  await withMigratedDatabase(server.url, async (client) => {
    await writeFile(join(ROOT, CUSTOM_OBJECTS_FILE), await describeCustomObjects(client));
    const { text, problems } = await describeStatements(client, await loadStatements());
    for (const problem of problems) console.error(problem);
    if (problems.length > 0) process.exitCode = 1;
    await writeFile(join(ROOT, STATEMENT_TYPES_FILE), text);
  });
} finally {
  await server.stop();
}
