import type pg from 'pg';
import { requireMember } from '../library-member.ts';

/**
 * Whether PostgreSQL rejected a prepared statement because a migration has since changed what it returns, for example,
 * by adding a column to a table whose columns it returns with `*`. The statement had no effect.
 *
 * @param error `message` may be translated. `routine` never is, but Prisma's errors don't have it.
 */
export const isStalePlan = ({ message, routine }: { message?: unknown; routine?: unknown }): boolean =>
  routine === 'RevalidateCachedQuery' ||
  (typeof message === 'string' && message.includes('cached plan must not change result type'));

/**
 * Closes connections with stale prepared statements once they are released. PostgreSQL would reject these statements
 * until the connection ends. As a result, after a migration by a newer version, each connection fails at most once.
 */
export function replaceStaleConnections(pool: pg.Pool): void {
  const stale = new WeakSet<pg.ClientBase>();
  pool.on('connect', (client) => {
    requireMember('pg 8.23.1', client, 'connection.on');
    (client as pg.Client).connection.on('errorMessage', (error: { message?: unknown; routine?: unknown }) => {
      if (isStalePlan(error)) stale.add(client);
    });
  });
  // The pool doesn't keep clients that are being closed.
  pool.on('release', (_error, client) => {
    if (stale.has(client)) void client.end();
  });
}
