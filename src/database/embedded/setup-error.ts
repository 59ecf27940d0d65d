/** The embedded PostgreSQL server can't run here. The message says what to do. */
export class PostgresSetupError extends Error {
  override readonly name = 'PostgresSetupError';
}
