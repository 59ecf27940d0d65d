import { QUEUE_POOL_SIZE } from '../../database/client.ts';
import { readHold } from '../../database/installation.ts';
import { findForeignTable, readMigrationState, readMigrations } from '../../database/migration-history.ts';
import { MIGRATIONS } from '../../database/migrations.ts';
import { type CheckContext, type Finding, findingsOf } from './finding.ts';

const MIN_VERSION = 150_000;
const MAX_CLOCK_SECONDS = { ok: 2, warning: 60 };

export async function checkVersion({ db }: CheckContext): Promise<Finding> {
  const { ok, failed } = findingsOf('database version');
  const [row] = await rowsOf<{ number: number; name: string }>(
    db,
    `SELECT current_setting('server_version_num')::int AS number, current_setting('server_version') AS name`,
  );
  if (row!.number >= MIN_VERSION) return ok(`PostgreSQL ${row!.name}`);
  return failed(`PostgreSQL ${row!.name} is too old.`, 'Upgrade the server to PostgreSQL 15 or later.');
}

export async function checkMigrations({ db }: CheckContext): Promise<Finding> {
  const { ok, warning, failed } = findingsOf('database migrations');
  const foreign = await findForeignTable(db.pool, await readMigrations(MIGRATIONS));
  if (foreign)
    return failed(
      `The database has a table "${foreign}" of another application.`,
      'Create a database for Tollgate alone, and set DATABASE_URL to it.',
    );
  const { pending, failed: broken, edited, unknown } = await readMigrationState(db.pool, MIGRATIONS);
  if (broken.length > 0) {
    return failed(`Migration ${broken[0]} failed.`, 'Start the service. Its error message says how to fix it.');
  }
  if (edited.length > 0) {
    return failed(
      `Migration ${edited[0]} was changed after it was applied.`,
      'Restore the original migration file from the installed version.',
    );
  }
  if (unknown.length > 0) {
    return warning(
      `The database was upgraded by a newer version. Migrations this version doesn't have: ${unknown.join(', ')}.`,
      'Upgrade Tollgate on this machine.',
    );
  }
  if (pending.length > 0) {
    return warning(`${pending.length} pending: ${pending.join(', ')}.`, 'Start the service to apply them.');
  }
  return ok('all applied');
}

/** The table is missing until the service has applied its migrations. */
export async function checkHold({ db }: CheckContext): Promise<Finding[]> {
  const { ok, failed } = findingsOf('installation');
  const [row] = await rowsOf<{ isThere: boolean }>(db, `SELECT to_regclass('"Installation"') IS NOT NULL AS "isThere"`);
  if (!row!.isThere) return [];
  const reason = await readHold(db.pool);
  if (!reason) return [ok('not on hold')];
  return [
    failed(
      `On hold (${reason}): it sends no deliveries or notices, and takes no payments.`,
      'If no other service uses this data, run tollgate adopt. See docs/operations.md about restored backups.',
    ),
  ];
}

/** Deliveries are scheduled and signed with the database's clock. */
export async function checkClock({ db }: CheckContext): Promise<Finding> {
  const { ok, warning, failed } = findingsOf('database clock');
  const before = Date.now();
  const [row] = await rowsOf<{ time: Date }>(db, 'SELECT clock_timestamp() AS time');
  const after = Date.now();
  const seconds = Math.abs(row!.time.getTime() - (before + after) / 2) / 1000;
  if (seconds <= MAX_CLOCK_SECONDS.ok) return ok("matches this machine's clock");
  const message = `It differs from this machine's clock by ${Math.round(seconds)} s.`;
  const advice = "Synchronize both machines with NTP. Webhooks are signed with the database's time.";
  return seconds <= MAX_CLOCK_SECONDS.warning ? warning(message, advice) : failed(message, advice);
}

export async function checkConnections({ db, config }: CheckContext): Promise<Finding> {
  const { ok, warning, failed } = findingsOf('database connections');
  const [row] = await rowsOf<{ limit: number; used: number }>(
    db,
    `SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS "limit",
            (SELECT count(*)::int FROM pg_stat_activity
              WHERE backend_type = 'client backend' AND application_name <> current_setting('application_name')) AS used`,
  );
  const { limit, used } = row!;
  const isPooled = config.databaseDirectUrl !== undefined && config.databaseDirectUrl !== config.databaseUrl;
  const needed =
    (isPooled ? 0 : config.databasePoolSize) +
    1 +
    (config.roles.has('gateway') ? 1 : 0) +
    (config.roles.has('worker') ? QUEUE_POOL_SIZE : 0);
  const advice =
    'Lower DATABASE_POOL_SIZE or raise max_connections. Each process needs DATABASE_POOL_SIZE connections, plus one ' +
    'for LISTEN, one for payments if it has the gateway role, and ' +
    `${QUEUE_POOL_SIZE} for the queue if it has the worker role.`;
  if (needed > limit) return failed(`A process needs ${needed} connections, but the server allows ${limit}.`, advice);
  const free = limit - used;
  if (needed > free) return warning(`A process needs ${needed} connections; ${free} of ${limit} are free now.`, advice);
  return ok(`${needed} needed, ${free} of ${limit} free`);
}

async function rowsOf<Row extends object>({ pool }: CheckContext['db'], sql: string): Promise<Row[]> {
  return (await pool.query<Row>(sql)).rows;
}
