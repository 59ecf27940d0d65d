import type pg from 'pg';
import { ADVISORY_LOCKS } from '../../database/advisory-locks.ts';
import type { Transaction } from '../../database/client.ts';
import { AppError } from '../../errors.ts';

/** How long a released host name is unavailable to other accounts, because buyers may still be using it. */
const RESERVED_DAYS = 30;

/** Without this limit, an account could block any number of host names by taking and releasing them. */
const MAX_RESERVED_PER_ACCOUNT = 100;

/**
 * Serializes changes that take a host name, until the transaction ends. Otherwise, two projects that swap names would
 * deadlock. Take this lock before all others.
 */
export async function queueForHosts(tx: Transaction): Promise<void> {
  await tx.$queryRaw`SELECT pg_advisory_xact_lock(${ADVISORY_LOCKS.hosts}, 0)::text AS "locked"`;
}

/** A project's host name. Locks it until the transaction ends. */
export async function lockHost(tx: Transaction, projectId: string): Promise<string | null> {
  const [row] = await tx.$queryRaw<{ gatewayHost: string | null }[]>`
    SELECT "gatewayHost" FROM "Project" WHERE "id" = ${projectId} FOR UPDATE`;
  return row?.gatewayHost ?? null;
}

/**
 * Rejects a host name that is reserved for another account. Call this after writing the host name to the project: the
 * unique index then waits for a concurrent release, so the reservation is visible here.
 *
 * @throws AppError `HOST_RESERVED`, or `CONFLICT` if the account has too many reservations.
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

/** Reserves a released host name for its previous account. */
export async function releaseHost(tx: Transaction, host: string, userId: string): Promise<void> {
  await tx.$executeRaw`
    INSERT INTO "ReleasedHost" ("host", "userId", "reservedUntil")
    VALUES (${host}, ${userId}, statement_timestamp() + make_interval(days => ${RESERVED_DAYS}::int))
    ON CONFLICT ("host") DO UPDATE SET "userId" = EXCLUDED."userId", "reservedUntil" = EXCLUDED."reservedUntil"`;
}

/** Deletes expired reservations. Returns how many there were. */
export async function sweepReleasedHosts(pool: pg.Pool): Promise<number> {
  const { rowCount } = await pool.query('DELETE FROM "ReleasedHost" WHERE "reservedUntil" <= now()');
  return rowCount ?? 0;
}

function hostReserved(until: Date): AppError {
  return new AppError('HOST_RESERVED', {
    detail:
      `This host name is reserved until ${until.toISOString()} for the account that released it. ` +
      'Choose a different host name, or wait until then.',
    fields: [{ pointer: '/gatewayHost', message: 'Reserved for the account that released it.' }],
  });
}

function tooManyReserved(): AppError {
  return new AppError('CONFLICT', {
    detail:
      `Your account released ${MAX_RESERVED_PER_ACCOUNT} host names within ${RESERVED_DAYS} days, and they are still reserved for it. ` +
      'Use one of them, or wait until a reservation expires.',
    fields: [{ pointer: '/gatewayHost', message: 'Your account has too many reserved host names.' }],
  });
}
