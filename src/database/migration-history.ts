import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import type { Logger } from 'pino';

export type Migration = { name: string; sql: string; checksum: string };
export type RecordedMigration = { name: string; checksum: string; isFinished: boolean };

/** Compares this version's migrations with a database's, by name. */
export type MigrationState = {
  /** Not applied yet. */
  pending: string[];
  /** Recorded as failed. */
  failed: string[];
  /** Changed after they were applied. */
  edited: string[];
  /** Applied by a newer version. */
  unknown: string[];
};

// The table that `prisma migrate` uses, column for column.
export const CREATE_HISTORY = `
  CREATE TABLE IF NOT EXISTS "_prisma_migrations" (
    "id"                  VARCHAR(36) PRIMARY KEY NOT NULL,
    "checksum"            VARCHAR(64) NOT NULL,
    "finished_at"         TIMESTAMPTZ,
    "migration_name"      VARCHAR(255) NOT NULL,
    "logs"                TEXT,
    "rolled_back_at"      TIMESTAMPTZ,
    "started_at"          TIMESTAMPTZ NOT NULL DEFAULT now(),
    "applied_steps_count" INTEGER NOT NULL DEFAULT 0
  )`;

/** Compares the migrations in `directory` with a database's. Doesn't change anything. */
export async function readMigrationState(pool: pg.Pool, directory: string): Promise<MigrationState> {
  const migrations = await readMigrations(directory);
  const { rows } = await pool.query<{ table: string | null }>(`SELECT to_regclass('"_prisma_migrations"') AS "table"`);
  return compare(migrations, rows[0]!.table === null ? new Map() : await readHistory(pool));
}

/** The name of a table that another program has created, in a database that has none of ours yet. */
export async function findForeignTable(
  client: pg.Pool | pg.Client,
  migrations: readonly { name: string }[],
): Promise<string | undefined> {
  const { rows } = await client.query<{ name: string; isHistory: boolean }>(
    `SELECT relname AS "name", relname = '_prisma_migrations' AS "isHistory" FROM pg_class
     WHERE relnamespace = quote_ident(current_schema())::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f')
       AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e')
     ORDER BY relname`,
  );
  const recorded = rows.some(({ isHistory }) => isHistory) ? await readHistory(client) : new Map();
  if (migrations.some(({ name }) => recorded.has(name))) return undefined;
  return rows.find(({ isHistory }) => !isHistory)?.name;
}

export async function readMigrations(directory: string): Promise<Migration[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return Promise.all(
    names.sort().map(async (name) => {
      const text = await readFile(join(directory, name, 'migration.sql'), 'utf8');
      // A checkout may have changed the line endings. Prisma's checksums ignore them too.
      const sql = text.replaceAll('\r\n', '\n');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

/** The migrations that the database has, by name. */
export async function readHistory(client: pg.Pool | pg.Client): Promise<Map<string, RecordedMigration>> {
  const { rows } = await client.query<RecordedMigration>(
    `SELECT "migration_name" AS "name", "checksum", "finished_at" IS NOT NULL AS "isFinished"
     FROM "_prisma_migrations" WHERE "rolled_back_at" IS NULL ORDER BY "started_at"`,
  );
  return new Map(rows.map((row) => [row.name, row]));
}

/** Compares this version's migrations with those that the database has. */
export function compare(migrations: Migration[], recorded: Map<string, RecordedMigration>): MigrationState {
  const known = new Set(migrations.map(({ name }) => name));
  const isEdited = ({ name, checksum }: Migration) => recorded.has(name) && recorded.get(name)!.checksum !== checksum;
  return {
    pending: [...known].filter((name) => !recorded.has(name)),
    failed: [...recorded.values()].filter(({ isFinished }) => !isFinished).map(({ name }) => name),
    edited: migrations.filter(isEdited).map(({ name }) => name),
    unknown: [...recorded.keys()].filter((name) => !known.has(name)),
  };
}

/** @throws if a migration failed or was edited */
export function refuseDivergence({ failed, edited, unknown }: MigrationState, log: Logger): void {
  if (failed[0]) {
    throw new Error(
      `The migration ${failed[0]} failed earlier. Undo its changes manually, run ` +
        `UPDATE "_prisma_migrations" SET "rolled_back_at" = now() WHERE "migration_name" = '${failed[0]}', then start again.`,
    );
  }
  if (edited[0]) {
    throw new Error(
      `The migration ${edited[0]} was edited after this database applied it. Restore the original file, and put the ` +
        'change in a new migration.',
    );
  }
  if (unknown.length > 0) {
    log.warn({ migrations: unknown }, 'the database was upgraded by a newer version and has unknown migrations');
  }
}

/** Records that a migration was applied. */
export async function recordMigration(client: pg.Client, { name, checksum }: Migration): Promise<void> {
  await client.query(
    `INSERT INTO "_prisma_migrations" ("id", "checksum", "migration_name", "finished_at", "applied_steps_count")
     VALUES ($1, $2, $3, clock_timestamp(), 1)`,
    [randomUUID(), checksum, name],
  );
}
