import type pg from 'pg';
import { runStatement, statement } from './statement.ts';

/**
 * How long a change to a table waits for its lock. Other statements queue up behind it, so it must not wait long. This
 * is shorter than `deadlock_timeout`, so in most deadlocks, it is the change that fails.
 */
export const GIVE_WAY_LOCK_TIMEOUT = '200ms';

/** lock_not_available, deadlock_detected: https://www.postgresql.org/docs/current/errcodes-appendix.html */
const LOCK_CODES: ReadonlySet<unknown> = new Set(['55P03', '40P01']);

/** Whether a statement failed because other transactions held its locks. It can succeed after they end. */
export const isLockConflict = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && LOCK_CODES.has(error.code);

/** How long a change waits before the statements in its way are canceled: a quarter of `GIVE_WAY_LOCK_TIMEOUT`. */
const CANCEL_MILLISECONDS = 50;

const READ_PID = statement('lock-read-pid', 'SELECT pg_backend_pid() AS "pid"');

/**
 * Backups, index builds, and the queue have other names. Canceling a commit that waits for a synchronous standby
 * (`SyncRep`) would acknowledge it, although a failover could still lose it.
 */
const CANCEL_BLOCKERS = statement(
  'lock-cancel-blockers',
  `SELECT pg_cancel_backend("pid") AS "isCanceled" FROM unnest(pg_blocking_pids($1)) AS blocker("pid")
   JOIN pg_stat_activity USING ("pid") WHERE application_name = 'tollgate' AND "state" = 'active'
     AND wait_event IS DISTINCT FROM 'SyncRep'`,
);

/**
 * Makes a change in a transaction, and cancels this service's statements that it waits for. Their callers can retry
 * them. Only statements that started earlier are canceled, because later ones wait for the change.
 *
 * @param watcher another connection, which cancels them.
 */
export async function cancelingBlockers<T>(
  client: pg.ClientBase,
  watcher: pg.ClientBase,
  change: () => Promise<T>,
): Promise<T> {
  const { rows } = await runStatement(client, READ_PID());
  const { pid } = rows[0]!;
  let canceling: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    // If this fails, the change fails with a lock timeout.
    canceling = runStatement(watcher, CANCEL_BLOCKERS(pid)).catch(() => {});
  }, CANCEL_MILLISECONDS);
  try {
    return await change();
  } finally {
    clearInterval(timer);
    await canceling;
  }
}
