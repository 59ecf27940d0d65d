import { join } from 'node:path';
import pRetry from 'p-retry';
import type pg from 'pg';
import type { Logger } from 'pino';
import { ADVISORY_LOCKS } from './advisory-locks.ts';
import { closeOlderConnections } from './close-older-connections.ts';
import { changeIndex, type IndexChange, indexChangeOf, lockIndexChanges, type Shortly } from './concurrent-indexes.ts';
import { withConnection } from './connection.ts';
import { whileReporting } from './index-reports.ts';
import { cancelingBlockers, GIVE_WAY_LOCK_TIMEOUT, isLockConflict } from './lock-conflicts.ts';
import {
  CREATE_HISTORY,
  compare,
  findForeignTable,
  type Migration,
  readHistory,
  readMigrations,
  recordMigration,
  refuseDivergence,
} from './migration-history.ts';
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

/**
 * If so many tries got no lock, statements in the way are canceled. Otherwise, an account whose long reads overlap could
 * keep a new version from ever starting.
 */
const PATIENT_TRIES = 5;

/** Building an index makes nobody wait, so it can wait for locks itself. */
const INDEX_SETTINGS = { ...SETTINGS, lock_timeout: '0' };

/** How long to wait for other processes' transactions before leaving their connections alone. */
const MAX_BUSY_MILLISECONDS = 5_000;

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

/**
 * Updates the database: applies the missing migrations in `directory` (`<YYYYMMDDHHMMSS_name>/migration.sql`) in the
 * order of their names, each in its own transaction, except for those that change an index concurrently. If other
 * transactions are in the way, it tries again until it gets the locks. Several processes can call it at the same time:
 * one does the work, and the others wait and find nothing left to do.
 *
 * @param directUrl points to the server itself, because the locks last as long as the session
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
    const applied: string[] = [];
    for (;;) {
      const next = await applyUntilIndex({ directUrl, client, migrations, applied, log });
      if (!next) return { applied };
      if (await applyToIndex({ directUrl, client, ...next, log })) applied.push(next.migration.name);
    }
  });
}

type IndexMigration = { migration: Migration; change: IndexChange };

/**
 * Applies the missing migrations, up to the first one that changes an index concurrently.
 *
 * @returns that one, if any
 */
async function applyUntilIndex(options: {
  directUrl: string;
  client: pg.Client;
  migrations: Migration[];
  applied: string[];
  log: Logger;
}): Promise<IndexMigration | undefined> {
  const { directUrl, client, migrations, applied, log } = options;
  await lockMigrations(client);
  const foreign = await findForeignTable(client, migrations);
  if (foreign) throw new OccupiedDatabaseError(foreign);
  await client.query(CREATE_HISTORY);
  const recorded = await readHistory(client);
  const state = compare(migrations, recorded);
  refuseDivergence(state, log);

  const isUpgrade = recorded.size > 0;
  const before = applied.length;
  let next: IndexMigration | undefined;
  for (const migration of migrations.filter(({ name }) => state.pending.includes(name))) {
    const change = indexChangeOf(migration.sql);
    if (change) {
      next = { migration, change };
      break;
    }
    await onceUnlocked({ directUrl, client, migration, log }, (shortly) =>
      shortly(() => applyMigration(client, migration)),
    );
    log.debug({ migration: migration.name }, 'migration applied');
    applied.push(migration.name);
    // The next migration may have to wait for hours.
    if (isUpgrade) await replaceOlderConnections(client, 0, log);
  }
  if (applied.length > before && isUpgrade) await replaceOlderConnections(client, MAX_BUSY_MILLISECONDS, log);
  if (applied.length > 0 && !next) log.info({ count: applied.length, last: applied.at(-1) }, 'migrations applied');
  await unlockMigrations(client);
  return next;
}

/** Another process's migrations can take a long time, so this lock has no time limit. */
async function lockMigrations(client: pg.Client): Promise<void> {
  await client.query(`SET lock_timeout = 0`);
  await client.query('SELECT pg_advisory_lock($1)', [ADVISORY_LOCKS.migrations]);
  await client.query(`SET lock_timeout = '${SETTINGS.lock_timeout}'`);
}

const unlockMigrations = (client: pg.Client): Promise<unknown> =>
  client.query('SELECT pg_advisory_unlock($1)', [ADVISORY_LOCKS.migrations]);

/** Prevents errors in the other processes. If this fails, the migrations have still been applied. */
async function replaceOlderConnections(client: pg.Client, waitMilliseconds: number, log: Logger): Promise<void> {
  await closeOlderConnections(client, waitMilliseconds).catch((error) =>
    log.warn({ err: error }, 'could not close connections from before the migrations'),
  );
}

/**
 * Applies a migration that changes an index concurrently, on a connection of its own. This can take hours, so it doesn't
 * hold the lock for migrations: processes of the last version must be able to start.
 *
 * @returns false if another process has applied it
 */
async function applyToIndex(
  options: IndexMigration & { directUrl: string; client: pg.Client; log: Logger },
): Promise<boolean> {
  const { directUrl, client, migration, change, log } = options;
  return withConnection(directUrl, 'tollgate-indexes', async (builder) => {
    await builder.query(setForSession(INDEX_SETTINGS));
    const pid = await lockIndexChanges(builder);
    if ((await readHistory(builder)).has(migration.name)) return false;
    await whileReporting({ client, pid, migration: migration.name, log }, () =>
      onceUnlocked({ directUrl, client: builder, migration, log }, (shortly) =>
        applyIndexChange(builder, migration, change, shortly),
      ),
    );
    await recordMigration(builder, migration);
    return true;
  });
}

/**
 * Tries until no other transactions are in the way.
 *
 * @param apply gets a function to run changes with whose locks others wait behind
 */
async function onceUnlocked(
  options: { directUrl: string; client: pg.Client; migration: Migration; log: Logger },
  apply: (shortly: Shortly) => Promise<void>,
): Promise<void> {
  const { directUrl, client, migration, log } = options;
  const afterCanceling: Shortly = (change) =>
    withConnection(directUrl, 'tollgate-migrations', (watcher) => cancelingBlockers(client, watcher, change));
  await pRetry((tries) => apply(tries > PATIENT_TRIES ? afterCanceling : (change) => change()), {
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

async function applyMigration(client: pg.Client, migration: Migration): Promise<void> {
  await client.query('BEGIN');
  try {
    // Without parameters, the driver sends the whole script and the server splits it, including `$$ … $$` bodies.
    await client.query(migration.sql);
    await recordMigration(client, migration);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw failure(migration, 'failed and was rolled back', error);
  }
}

async function applyIndexChange(
  builder: pg.Client,
  migration: Migration,
  change: IndexChange,
  shortly: Shortly,
): Promise<void> {
  await changeIndex(builder, change, shortly).catch((error) => {
    throw failure(migration, 'failed, and can be tried again', error);
  });
}

function failure({ name }: Migration, outcome: string, error: unknown): Error {
  const reason = error instanceof Error ? error.message : String(error);
  return new Error(`The migration ${name} ${outcome}: ${reason}`, { cause: error });
}
