import { setTimeout as sleep } from 'node:timers/promises';
import { placeOf, reasonOf, withConnection } from '../../database/connection.ts';
import { MAX_LAG_MILLISECONDS, readPrimary, readStandby } from '../../database/replica.ts';
import { type Finding, findingsOf, type Patient } from './finding.ts';

const APPLICATION_NAME = 'tollgate-doctor';
const NOTIFY_MILLISECONDS = 3_000;
const POLL_MILLISECONDS = 100;

/**
 * Checks that notifications reach the connection that listens for them. Behind a pooler in transaction mode, they
 * don't.
 */
export async function checkNotifications({ db }: Patient): Promise<Finding> {
  const { ok, failed } = findingsOf('database LISTEN');
  const channel = `tollgate_doctor_${process.pid}`;
  const hasArrived = await withConnection(db.directUrl, APPLICATION_NAME, async (client) => {
    const arrived = Promise.withResolvers<boolean>();
    client.on('notification', () => arrived.resolve(true));
    const timer = setTimeout(() => arrived.resolve(false), NOTIFY_MILLISECONDS);
    await client.query(`LISTEN ${channel}`);
    await db.pool.query('SELECT pg_notify($1, $2)', [channel, '']);
    return arrived.promise.finally(() => clearTimeout(timer));
  });
  if (hasArrived) return ok('notifications arrive');
  return failed(
    `No notification arrived within ${NOTIFY_MILLISECONDS / 1000} s.`,
    'If DATABASE_URL points to a pooler in transaction mode, set DATABASE_DIRECT_URL to the URL of the primary server itself. Without notifications, deliveries start late.',
  );
}

/** Checks that `DATABASE_READ_URL` points to a standby of the database, and measures how far behind it is. */
export async function checkReplica({ db, config }: Patient): Promise<Finding[]> {
  const { ok, warning, failed } = findingsOf('DATABASE_READ_URL');
  const { databaseReadUrl } = config;
  if (databaseReadUrl === undefined) return [];
  const { identity, written } = await readPrimary(db.pool);
  const startedAt = performance.now();
  const elapsed = () => performance.now() - startedAt;
  try {
    return await withConnection(databaseReadUrl, APPLICATION_NAME, async (client) => {
      let standby = await readStandby(client);
      if (standby.identity !== identity || !standby.isStandby) {
        const advice =
          'Set it to the URL of a streaming standby of this database. ' +
          'Until then, statistics are read from DATABASE_URL.';
        return [failed('It does not point to a standby of this database.', advice)];
      }
      while (standby.replayed < written && elapsed() < MAX_LAG_MILLISECONDS) {
        await sleep(POLL_MILLISECONDS);
        standby = await readStandby(client);
      }
      if (standby.replayed >= written) return [ok(`a standby, less than ${Math.ceil(elapsed() / 1000)} s behind`)];
      const advice = 'Check its replication. Until it catches up, statistics are read from DATABASE_URL.';
      return [warning(`It is more than ${MAX_LAG_MILLISECONDS / 1000} s behind.`, advice)];
    });
  } catch (error) {
    const advice = 'Check the URL and the server. Until it responds, statistics are read from DATABASE_URL.';
    return [warning(`${placeOf(databaseReadUrl)}: ${reasonOf(error as Error)}`, advice)];
  }
}
