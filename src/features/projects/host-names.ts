import type pg from 'pg';
import type { Transaction } from '../../database/client.ts';
import { AppError } from '../../errors.ts';

/** How long a host name that was let go is kept from other accounts: buyers may still be paying under it. */
const RESERVED_DAYS = 30;

/** Or an account that takes and lets go of one name after another could keep any number from others. */
const MAX_RESERVED_PER_ACCOUNT = 100;

/** Keeps this lock apart from other advisory locks. */
const HOSTS_LOCK = 403;

/**
 * Lets changes that take a host name run one after the other, until the transaction ends: two projects that each ask for
 * the other's name would wait for each other. Comes before all other locks.
 */
export async function queueForHosts(tx: Transaction): Promise<void> {
  await tx.$queryRaw`SELECT pg_advisory_xact_lock(${HOSTS_LOCK}, 0)::text AS "locked"`;
}

/** The host name a project has now. It stays as it is until the transaction ends. */
export async function lockHost(tx: Transaction, projectId: string): Promise<string | null> {
  const [row] = await tx.$queryRaw<{ gatewayHost: string | null }[]>`
    SELECT "gatewayHost" FROM "Project" WHERE "id" = ${projectId} FOR UPDATE`;
  return row?.gatewayHost ?? null;
}

/**
 * Refuses a host name that is reserved for another account. Comes after the project was written with it: the unique index
 * has then waited for a release that was under way, whose reservation this statement sees.
 *
 * @throws AppError `HOST_RESERVED`, and `CONFLICT` when the account keeps too many others from being used
 */
export async function takeHost(tx: Transaction, host: string, userId: string): Promise<void> {
  const taken = await tx.$executeRaw`
    DELETE FROM "ReleasedHost"
    WHERE "host" = ${host} AND ("userId" = ${userId} OR "reservedUntil" <= statement_timestamp())`;
  if (taken > 0) return;
  const [reserved] = await tx.$queryRaw<{ reservedUntil: Date }[]>`
    SELECT "reservedUntil" FROM "ReleasedHost" WHERE "host" = ${host}`;
  if (reserved) throw hostReserved(reserved.reservedUntil);
  const [{ count }] = await tx.$queryRaw<[{ count: number }]>`
    SELECT count(*)::int AS "count" FROM "ReleasedHost"
    WHERE "userId" = ${userId} AND "reservedUntil" > statement_timestamp()`;
  if (count >= MAX_RESERVED_PER_ACCOUNT) throw tooManyReserved();
}

/** Reserves a host name for the account that lets go of it. */
export async function releaseHost(tx: Transaction, host: string, userId: string): Promise<void> {
  await tx.$executeRaw`
    INSERT INTO "ReleasedHost" ("host", "userId", "reservedUntil")
    VALUES (${host}, ${userId}, statement_timestamp() + make_interval(days => ${RESERVED_DAYS}::int))
    ON CONFLICT ("host") DO UPDATE SET "userId" = EXCLUDED."userId", "reservedUntil" = EXCLUDED."reservedUntil"`;
}

/** Removes reservations that are over. Returns how many there were. */
export async function sweepReleasedHosts(pool: pg.Pool): Promise<number> {
  const { rowCount } = await pool.query('DELETE FROM "ReleasedHost" WHERE "reservedUntil" <= now()');
  return rowCount ?? 0;
}

function hostReserved(until: Date): AppError {
  return new AppError('HOST_RESERVED', {
    detail:
      `Another account released this host name, and it is reserved for that account until ${until.toISOString()}. ` +
      'Choose another host name, or wait until then.',
    fields: [{ pointer: '/gatewayHost', message: 'Is reserved for the account that released it.' }],
  });
}

function tooManyReserved(): AppError {
  return new AppError('CONFLICT', {
    detail:
      `Your account released ${MAX_RESERVED_PER_ACCOUNT} host names within ${RESERVED_DAYS} days, and they are reserved for it. ` +
      'Take one of them back, or wait until one is free.',
    fields: [{ pointer: '/gatewayHost', message: 'Your account keeps too many other host names reserved.' }],
  });
}
