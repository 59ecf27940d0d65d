import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pRetry from 'p-retry';
import type pg from 'pg';
import type { Logger } from 'pino';
import { ADVISORY_LOCKS } from './advisory-locks.ts';
import { closeOlderConnections } from './close-older-connections.ts';
import { withConnection } from './connection.ts';
import { GIVE_WAY_LOCK_TIMEOUT, isLockConflict } from './lock-conflicts.ts';
import { SESSION_SETTINGS, setForSession } from './session-settings.ts';

/** This version's migrations. */
export const MIGRATIONS = join(import.meta.dirname, '..', '..', 'prisma', 'migrations');

/** A migration runs for as long as it needs, but doesn't wait long for a lock. */
const SETTINGS = {
  ...SESSION_SETTINGS,
  statement_timeout: '0',
  lock_timeout: GIVE_WAY_LOCK_TIMEOUT,
  idle_in_transaction_session_timeout: '0',
};

/** Processes that run the previous release keep working between attempts. A backup can hold its locks for hours. */
const LOCK_RETRIES = {
  retries: Number.POSITIVE_INFINITY,
  minTimeout: 500,
  maxTimeout: 30_000,
  factor: 2,
  randomize: true,
};

/** How long to wait for other processes' transactions before leaving their connections alone. */
const MAX_BUSY_MILLISECONDS = 5_000;

type Migration = { name: string; sql: string; checksum: string };
type RecordedMigration = { name: string; checksum: string; isFinished: boolean };

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

/** The database has tables of another program. The message is for operators. */
export class OccupiedDatabaseError extends Error {
  override readonly name = 'OccupiedDatabaseError';
  constructor(table: string) {
    super(
      `The database at DATABASE_URL belongs to another application: it has a table "${table}". Create a database for ` +
        'Tollgate alone, and set DATABASE_URL to it. Nothing was changed.',
    );
  }
}

// The table that `prisma migrate` uses, column for column.
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
 * Updates the database: applies the missing migrations in `directory` (`<YYYYMMDDHHMMSS_name>/migration.sql`) in the
 * order of their names, each in its own transaction. If other transactions are in the way, it tries again until it gets
 * the locks. Several processes can call it at the same time: one does the work, and the others wait and find nothing
 * left to do.
 *
 * @param directUrl points to the server itself, because the lock lasts as long as the session
 * @returns the names of the migrations that this call applied
 * @throws OccupiedDatabaseError if another application's tables are there
 * @throws if an applied migration was edited, if one is recorded as failed, or if one fails now (and is rolled back)
 */
export async function applyMigrations(
  directUrl: string,
  directory: string,
  log: Logger,
): Promise<{ applied: string[] }> {
  const migrations = await readMigrations(directory);
  // Closing the connection releases the lock.
  return withConnection(directUrl, 'tollgate-migrations', async (client) => {
    await client.query(setForSession(SETTINGS));
    await waitForOtherRuns(client);
    const foreign = await findForeignTable(client, migrations);
    if (foreign) throw new OccupiedDatabaseError(foreign);
    await client.query(CREATE_HISTORY);
    const recorded = await readHistory(client);
    const state = compare(migrations, recorded);
    refuseDivergence(state, log);

    const applied: string[] = [];
    const isUpgrade = recorded.size > 0;
    for (const migration of migrations.filter(({ name }) => state.pending.includes(name))) {
      await applyOnceUnlocked(client, migration, log);
      log.debug({ migration: migration.name }, 'migration applied');
      applied.push(migration.name);
      // The next migration may have to wait for hours.
      if (isUpgrade) await replaceOlderConnections(client, 0, log);
    }
    if (applied.length > 0) {
      log.info({ count: applied.length, last: applied.at(-1) }, 'migrations applied');
      if (isUpgrade) await replaceOlderConnections(client, MAX_BUSY_MILLISECONDS, log);
    }
    return { applied };
  });
}

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

async function readHistory(client: pg.Pool | pg.Client): Promise<Map<string, RecordedMigration>> {
  const { rows } = await client.query<RecordedMigration>(
    `SELECT "migration_name" AS "name", "checksum", "finished_at" IS NOT NULL AS "isFinished"
     FROM "_prisma_migrations" WHERE "rolled_back_at" IS NULL ORDER BY "started_at"`,
  );
  return new Map(rows.map((row) => [row.name, row]));
}

function compare(migrations: Migration[], recorded: Map<string, RecordedMigration>): MigrationState {
  const known = new Set(migrations.map(({ name }) => name));
  const isEdited = ({ name, checksum }: Migration) => recorded.has(name) && recorded.get(name)!.checksum !== checksum;
  return {
    pending: [...known].filter((name) => !recorded.has(name)),
    failed: [...recorded.values()].filter(({ isFinished }) => !isFinished).map(({ name }) => name),
    edited: migrations.filter(isEdited).map(({ name }) => name),
    unknown: [...recorded.keys()].filter((name) => !known.has(name)),
  };
}

function refuseDivergence({ failed, edited, unknown }: MigrationState, log: Logger): void {
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

/** Another process's migrations can take a long time, so this lock has no time limit. */
async function waitForOtherRuns(client: pg.Client): Promise<void> {
  await client.query(`SET lock_timeout = 0`);
  await client.query('SELECT pg_advisory_lock($1)', [ADVISORY_LOCKS.migrations]);
  await client.query(`SET lock_timeout = '${SETTINGS.lock_timeout}'`);
}

/** Prevents errors in the other processes. If this fails, the migrations have still been applied. */
async function replaceOlderConnections(client: pg.Client, waitMilliseconds: number, log: Logger): Promise<void> {
  await closeOlderConnections(client, waitMilliseconds).catch((error) =>
    log.warn({ err: error }, 'could not close connections from before the migrations'),
  );
}

async function applyOnceUnlocked(client: pg.Client, migration: Migration, log: Logger): Promise<void> {
  await pRetry(() => applyMigration(client, migration), {
    ...LOCK_RETRIES,
    shouldRetry: ({ error }) => isLockConflict(error.cause),
    onFailedAttempt: ({ error }) => {
      if (!isLockConflict(error.cause)) return;
      log.warn(
        { migration: migration.name },
        'a migration is waiting for locks that other transactions hold; retrying',
      );
    },
  });
}

async function applyMigration(client: pg.Client, { name, sql, checksum }: Migration): Promise<void> {
  await client.query('BEGIN');
  try {
    // Without parameters, the driver sends the whole script and the server splits it, including `$$ … $$` bodies.
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
    throw new Error(`The migration ${name} failed and was rolled back: ${reason}`, { cause: error });
  }
}
