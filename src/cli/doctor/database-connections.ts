import { withConnection } from '../../database/connection.ts';
import { type CheckContext, type Finding, findingsOf } from './finding.ts';

const APPLICATION_NAME = 'tollgate-doctor';
const NOTIFY_MILLISECONDS = 3_000;

/**
 * Checks that notifications reach the connection that listens for them. Behind a pooler in transaction mode, they
 * don't.
 */
export async function checkNotifications({ db }: CheckContext): Promise<Finding> {
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
