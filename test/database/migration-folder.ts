import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import pg from 'pg';
import pino from 'pino';
import { applyMigrations } from '../../src/database/migrations.ts';
import { createEmptyDatabase } from '../support/database.ts';
import { type NodeProcess, startNode } from '../support/node-process.ts';

const quiet = pino({ level: 'silent' });

export type MigrationFolder = Awaited<ReturnType<typeof createMigrationFolder>>;

/** Creates a folder for migrations, and an empty database to apply them to. */
export async function createMigrationFolder() {
  const database = await createEmptyDatabase();
  const pool = new pg.Pool({ connectionString: database.url });
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-migrations-'));
  await writeFile(join(directory, 'migration_lock.toml'), 'provider = "postgresql"\n');
  return {
    url: database.url,
    pool,
    directory,
    async write(name: string, sql: string): Promise<void> {
      await mkdir(join(directory, name), { recursive: true });
      await writeFile(join(directory, name, 'migration.sql'), sql);
    },
    remove: (name: string): Promise<void> => rm(join(directory, name), { recursive: true }),
    async rowsOf(sql: string): Promise<pg.QueryResultRow[]> {
      return (await pool.query(sql)).rows;
    },
    apply: (log = quiet) => applyMigrations(database.url, directory, log),
    /** Applies them in another process, which prints the names of those that it applied. */
    applyElsewhere: (): NodeProcess =>
      startNode(resolve(import.meta.dirname, 'applies-migrations.ts'), [database.url, directory]),
    async close(): Promise<void> {
      await pool.end();
      await database.drop();
      await rm(directory, { recursive: true });
    },
  };
}
