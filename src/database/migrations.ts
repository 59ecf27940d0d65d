import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import type { Logger } from 'pino';

type Migration = { name: string; sql: string; checksum: string };
type RecordedMigration = { name: string; checksum: string; isFinished: boolean };

// Prisma's own number (schema-engine, sql-schema-connector), so that `prisma migrate deploy` and this exclude each other.
const ADVISORY_LOCK = 72707369;

// The table of `prisma migrate`, column for column.
const CREATE_HISTORY = `
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

/**
 * Brings the database up to date: applies, in the order of their names, the migrations of `directory`
 * (`<YYYYMMDDHHMMSS_name>/migration.sql`) that it does not have yet, each in a transaction of its own. Any number of
 * processes may call it at once; one works, the others wait and find nothing left to do.
 *
 * @returns the names of the migrations that this call applied
 * @throws when an applied migration was edited, when one is recorded as failed, and when one fails (it is undone)
 */
export async function applyMigrations(pool: pg.Pool, directory: string, log: Logger): Promise<{ applied: string[] }> {
  const migrations = await readMigrations(directory);
  const client = await pool.connect();
  try {
    await client.query('SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0');
    await client.query('SELECT pg_advisory_lock($1)', [ADVISORY_LOCK]);
    await client.query(CREATE_HISTORY);
    const recorded = await readHistory(client);
    refuseDivergence(migrations, recorded, log);

    const applied: string[] = [];
    for (const migration of migrations.filter(({ name }) => !recorded.has(name))) {
      await applyMigration(client, migration);
      log.info({ migration: migration.name }, 'migration applied');
      applied.push(migration.name);
    }
    return { applied };
  } finally {
    // Ends the connection instead of returning it: that frees the lock and the settings on every path.
    client.release(true);
  }
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return Promise.all(
    names.sort().map(async (name) => {
      const text = await readFile(join(directory, name, 'migration.sql'), 'utf8');
      // A checkout may have rewritten the line ends; Prisma's checksums do not depend on them either.
      const sql = text.replaceAll('\r\n', '\n');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

async function readHistory(client: pg.PoolClient): Promise<Map<string, RecordedMigration>> {
  const { rows } = await client.query<RecordedMigration>(
    `SELECT "migration_name" AS "name", "checksum", "finished_at" IS NOT NULL AS "isFinished"
     FROM "_prisma_migrations" WHERE "rolled_back_at" IS NULL ORDER BY "started_at"`,
  );
  return new Map(rows.map((row) => [row.name, row]));
}

function refuseDivergence(migrations: Migration[], recorded: Map<string, RecordedMigration>, log: Logger): void {
  const failed = [...recorded.values()].find(({ isFinished }) => !isFinished);
  if (failed) {
    throw new Error(
      `The migration ${failed.name} is recorded as failed. Undo by hand what it has left behind, then mark it with ` +
        `UPDATE "_prisma_migrations" SET "rolled_back_at" = now() WHERE "migration_name" = '${failed.name}', and start again.`,
    );
  }
  for (const { name, checksum } of migrations) {
    const applied = recorded.get(name);
    if (applied && applied.checksum !== checksum) {
      throw new Error(
        `The migration ${name} was edited after this database applied it. Restore the file as it was and put the ` +
          'change into a new migration.',
      );
    }
  }
  const known = new Set(migrations.map(({ name }) => name));
  const unknown = [...recorded.keys()].filter((name) => !known.has(name));
  if (unknown.length > 0) {
    log.warn({ migrations: unknown }, 'the database has migrations that this version does not know: it is newer');
  }
}

async function applyMigration(client: pg.PoolClient, { name, sql, checksum }: Migration): Promise<void> {
  await client.query('BEGIN');
  try {
    // Without parameters the driver sends the script whole, and the server splits it, `$$ … $$` bodies included.
    await client.query(sql);
    await client.query(
      `INSERT INTO "_prisma_migrations" ("id", "checksum", "migration_name", "finished_at", "applied_steps_count")
       VALUES ($1, $2, $3, clock_timestamp(), 1)`,
      [randomUUID(), checksum, name],
    );
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`The migration ${name} failed and was undone: ${reason}`, { cause: error });
  }
}
