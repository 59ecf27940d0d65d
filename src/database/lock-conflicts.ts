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
