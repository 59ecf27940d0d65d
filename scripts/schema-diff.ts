import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import { type DiffParams, SchemaEngine } from '@prisma/schema-engine-wasm';

/** The SQL that changes one schema into the other, and a summary. Undefined if the schemas are equivalent. */
export type SchemaDiff = { sql: string; summary: string } | undefined;

type DiffTarget = DiffParams['from'];

const ROOT = resolve(import.meta.dirname, '..');
export const MIGRATIONS = join(ROOT, 'prisma/migrations');
/** The schema after all migrations. Each new migration contains the changes since then and updates this file. */
export const MIGRATED_SCHEMA = join(MIGRATIONS, 'schema.prisma');

/** The changes to `prisma/schema.prisma` since the last migration. */
export async function compareWithMigrations(serverUrl: string) {
  const schema = await readFile(join(ROOT, 'prisma/schema.prisma'), 'utf8');
  const migrated = await readFile(MIGRATED_SCHEMA, 'utf8').catch(() => undefined);
  const difference = await diffSchemas(serverUrl, migrated, schema);
  return { schema, difference, isFirst: migrated === undefined };
}

/** The message about changes that no migration makes. */
export function missingMigration({ summary }: { summary: string }): string {
  return `The migrations do not match prisma/schema.prisma:\n${summary}\nRun: npm run migration -- NAME`;
}

/**
 * Compares two Prisma schemas with the WebAssembly build of Prisma's schema engine, which comes from npm.
 *
 * @param serverUrl any PostgreSQL server. The engine reads the server's version, but no tables.
 * @param from a schema's text, or undefined for an empty database.
 * @throws the engine's message if a schema is invalid.
 */
export async function diffSchemas(serverUrl: string, from: string | undefined, to: string): Promise<SchemaDiff> {
  const adapter = bindMigrationAwareSqlAdapterFactory(new PrismaPg({ connectionString: serverUrl }));
  const engine = await SchemaEngine.new({ datamodels: [['schema.prisma', to]] }, () => {}, adapter);
  const params = {
    from: targetOf(from),
    to: targetOf(to),
    exitCode: true,
    shadowDatabaseUrl: null,
    filters: { externalTables: [], externalEnums: [] },
  };
  const { stdout: sql, exitCode } = await engine.diff({ ...params, script: true });
  // 2 means there are differences, as in `prisma migrate diff --exit-code`.
  if (exitCode !== 2 || sql === null) return undefined;
  const { stdout: summary } = await engine.diff({ ...params, script: false });
  return { sql: `${sql.trim()}\n`, summary: summary ?? '' };
}

function targetOf(schema: string | undefined): DiffTarget {
  if (schema === undefined) return { tag: 'empty' };
  return { tag: 'schemaDatamodel', files: [{ path: 'schema.prisma', content: schema }] };
}
