/**
 * A distinct number for each kind of advisory lock, so that locks for different purposes never wait for each other. For
 * locks that take two numbers, this is the first.
 * https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS
 */
export const ADVISORY_LOCKS = {
  /** Prisma's own number (schema-engine, sql-schema-connector), so `prisma migrate deploy` waits too. */
  migrations: 72_707_369,
  partitions: 72_707_370,
  deliveryRollups: 72_707_371,
  indexes: 72_707_372,
  /** The second number is the hash of a project's ID. */
  books: 402,
  /** The second number is the hash of a network, an asset, and a wallet. */
  payer: 403,
  /** The second number is 0. */
  hosts: 404,
  /** The second number is the hash of an account's ID. */
  projects: 405,
  /** The second number is the hash of an account's ID. */
  hostsOfAccount: 406,
} as const;
