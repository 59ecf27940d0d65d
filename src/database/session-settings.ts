/**
 * The settings of every session. Prisma's adapter reads and writes times without an offset, so sessions must use UTC.
 * By the time a timeout ends a statement, its caller is no longer waiting, because requests end within 15 s.
 */
export const SESSION_SETTINGS = {
  TimeZone: 'UTC',
  statement_timeout: '15s',
  lock_timeout: '10s',
  idle_in_transaction_session_timeout: '15s',
} as const;

/** The statements that change these settings for the rest of a session. */
export function setForSession(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `SET ${name} = '${value}'`)
    .join('; ');
}
