import pino from 'pino';
import { type Bus, openBus, topics } from '../bus/bus.ts';
import { ConfigError, readConfig } from '../config/config.ts';
import { type Database, openDatabase } from '../database/client.ts';
import { UnusableDatabaseError } from '../database/connection.ts';
import { startEmbeddedPostgres } from '../database/embedded/embedded-postgres.ts';
import { adopt, type HoldReason, hold, readHold } from '../database/installation.ts';
import { applyMigrations, MIGRATIONS } from '../database/migrations.ts';
import { skipOlder } from '../delivery/queue/skip-older.ts';
import { Failure } from './failure.ts';

const CONNECTIONS = 2;
const quiet = pino({ level: 'silent' });

/** Puts the installation with this environment on hold. */
export function holdInstallation(env: NodeJS.ProcessEnv): Promise<void> {
  return withInstallation(env, ({ pool }) => hold(pool));
}

/**
 * Ends the hold of the installation with this environment.
 *
 * @returns why it was on hold, and how many deliveries were skipped.
 * @throws Failure if deliveries are to be skipped, but workers may be sending them.
 */
export function adoptInstallation(
  env: NodeJS.ProcessEnv,
  { skipsOlder }: { skipsOlder: boolean },
): Promise<{ reason: HoldReason | undefined; skipped: number }> {
  return withInstallation(env, async ({ pool }) => {
    const reason = await readHold(pool);
    if (!reason && skipsOlder)
      throw new Failure(
        'refused',
        'The installation isn’t on hold, so its deliveries are being sent. None was skipped.',
      );
    const skipped = skipsOlder ? await skipOlder(pool) : 0;
    if (reason) await adopt(pool);
    return { reason, skipped };
  });
}

/** Opens the database as the service does, with its tables up to date, and tells running processes about the change. */
async function withInstallation<T>(env: NodeJS.ProcessEnv, work: (db: Database) => Promise<T>): Promise<T> {
  const { databaseUrl, databaseDirectUrl: directUrl, dataDir } = readSettings(env);
  const embedded = databaseUrl ? undefined : await startEmbeddedPostgres({ dataDir, log: quiet });
  const url = databaseUrl ?? embedded!.url;
  let db: Database | undefined;
  let bus: Bus | undefined;
  try {
    db = await openDatabase({ url, directUrl, poolSize: CONNECTIONS, log: quiet }).catch((error) => {
      throw new Failure('unreachable', new UnusableDatabaseError(url, error).message);
    });
    await applyMigrations(db.directUrl, MIGRATIONS, quiet);
    bus = await openBus({ url: db.directUrl, pool: db.pool, log: quiet });
    const result = await work(db);
    bus.publish(topics.installation);
    return result;
  } finally {
    await bus?.close();
    await db?.close();
    await embedded?.stop();
  }
}

function readSettings(env: NodeJS.ProcessEnv) {
  try {
    return readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) throw new Failure('usage', error.message);
    throw error;
  }
}
