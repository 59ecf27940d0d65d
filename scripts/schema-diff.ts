import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import { type DiffParams, SchemaEngine } from '@prisma/schema-engine-wasm';

/** The SQL that changes one schema into the other, and a summary. Undefined if the schemas are equivalent. */
export type SchemaDiff = { sql: string; summary: string } | undefined;

type DiffTarget = DiffParams['from'];

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
