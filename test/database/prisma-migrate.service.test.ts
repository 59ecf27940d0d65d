import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import { type MigrationList, SchemaEngine } from '@prisma/schema-engine-wasm';
import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { applyMigrations } from '../../src/database/migrations.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';

// `prisma migrate deploy` and `prisma migrate status` use the same engine.
const FILTERS = { externalTables: [], externalEnums: [] };
const SCHEMA = 'datasource db {\n  provider = "postgresql"\n}\n';
const MIGRATIONS = {
  '20260101000000_first': 'CREATE TABLE "first" ("number" INTEGER);\n',
  '20260102000000_second': 'CREATE TABLE "second" ("number" INTEGER);\n',
};
const HISTORY_COLUMNS = `
  SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid)
  FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  WHERE a.attrelid = '_prisma_migrations'::regclass AND a.attnum > 0 ORDER BY a.attnum`;

let databases: TestDatabase[];
let directory: string;

beforeAll(async () => {
  databases = await Promise.all([createEmptyDatabase(), createEmptyDatabase()]);
  directory = await mkdtemp(join(tmpdir(), 'tollgate-prisma-migrate-'));
  for (const [name, sql] of Object.entries(MIGRATIONS)) {
    await mkdir(join(directory, name));
    await writeFile(join(directory, name, 'migration.sql'), sql);
  }
});

afterAll(async () => {
  for (const database of databases) await database.drop();
  await rm(directory, { recursive: true });
});

async function applyHere(url: string): Promise<{ applied: string[]; columns: pg.QueryResultRow[] }> {
  const { applied } = await applyMigrations(url, directory, pino({ level: 'silent' }));
  const pool = new pg.Pool({ connectionString: url });
  const { rows } = await pool.query(HISTORY_COLUMNS);
  await pool.end();
  return { applied, columns: rows };
}

async function withEngine<T>(url: string, work: (engine: SchemaEngine) => Promise<T>): Promise<T> {
  // The engine holds its lock until its connection is closed.
  const pool = new pg.Pool({ connectionString: url });
  try {
    const adapter = bindMigrationAwareSqlAdapterFactory(new PrismaPg(pool));
    return await work(await SchemaEngine.new({ datamodels: [['schema.prisma', SCHEMA]] }, () => {}, adapter));
  } finally {
    await pool.end();
  }
}

function migrationList(migrations: Record<string, string>): MigrationList {
  return {
    baseDir: directory,
    lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
    shadowDbInitScript: '',
    migrationDirectories: Object.entries(migrations).map(([path, value]) => ({
      path,
      migrationFile: { path: 'migration.sql', content: { tag: 'ok', value } },
    })),
  };
}

test('Prisma finds the history in order and applies later migrations on top of it', async () => {
  const { url } = databases[0]!;
  await applyHere(url);
  const third = { '20260103000000_third': 'CREATE TABLE "third" ("number" INTEGER);\n' };
  await withEngine(url, async (engine) => {
    const migrationsList = migrationList(MIGRATIONS);
    const diagnosis = { migrationsList, optInToShadowDatabase: false, filters: FILTERS };
    expect(await engine.diagnoseMigrationHistory(diagnosis)).toEqual({
      editedMigrationNames: [],
      failedMigrationNames: [],
      hasMigrationsTable: true,
      history: null,
    });
    const more = { migrationsList: migrationList({ ...MIGRATIONS, ...third }), filters: FILTERS };
    expect(await engine.applyMigrations(more)).toEqual({ appliedMigrationNames: Object.keys(third) });
  });
});

test("migrations applied by Prisma are not applied again, and Prisma's history table has the same columns as ours", async () => {
  const { url } = databases[1]!;
  const deployment = { migrationsList: migrationList(MIGRATIONS), filters: FILTERS };
  await withEngine(url, (engine) => engine.applyMigrations(deployment));
  const prisma = await applyHere(url);
  expect(prisma.applied).toEqual([]);
  expect(prisma.columns).toHaveLength(8);
  expect((await applyHere(databases[0]!.url)).columns).toEqual(prisma.columns);
});
