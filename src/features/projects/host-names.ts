import type pg from 'pg';
import { ADVISORY_LOCKS } from '../../database/advisory-locks.ts';
import { deleteWhere } from '../../database/batches.ts';
import type { Transaction } from '../../database/client.ts';
import { AppError } from '../../errors.ts';

/** How long a released host name is unavailable to other accounts, because buyers may still be using it. */
const RESERVED_DAYS = 30;

/** Without this limit, an account could block any number of host names by taking and releasing them. */
const MAX_RESERVED_PER_ACCOUNT = 100;

/** Marks reservations for names under the operator's gateway domain. */
export const SLUG_PREFIX = 'slug:';

type ReservedField = 'gatewayHost' | 'slug';

/**
 * Makes transactions that take host names wait for each other. Otherwise, two projects that swap names would deadlock.
 * Take this lock before locks on host names and on projects that others can see.
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
export async function takeHost(
  tx: Transaction,
  host: string,
  userId: string,
  field: ReservedField = 'gatewayHost',
): Promise<void> {
  const taken = await tx.$executeRaw`
    DELETE FROM "ReleasedHost"
    WHERE "host" = ${host} AND ("userId" = ${userId} OR "reservedUntil" <= statement_timestamp())`;
  if (taken > 0) return;
  await refuseReserved(tx, host, userId, field);
  const [{ count }] = await tx.$queryRaw<[{ count: number }]>`
    SELECT count(*)::int AS "count" FROM "ReleasedHost"
    WHERE "userId" = ${userId} AND "reservedUntil" > statement_timestamp()
      AND starts_with("host", ${SLUG_PREFIX}) = ${field === 'slug'}`;
  if (count >= MAX_RESERVED_PER_ACCOUNT) throw tooManyReserved(field);
}

/**
 * @throws AppError `HOST_RESERVED` if the name is reserved for another account.
 */
export async function refuseReserved(
  tx: Transaction,
  host: string,
  userId: string,
  field: ReservedField = 'gatewayHost',
): Promise<void> {
  const [reserved] = await tx.$queryRaw<{ reservedUntil: Date }[]>`
    SELECT "reservedUntil" FROM "ReleasedHost"
    WHERE "host" = ${host} AND "userId" <> ${userId} AND "reservedUntil" > statement_timestamp()`;
  if (reserved) throw hostReserved(reserved.reservedUntil, field);
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
  return deleteWhere(pool, 'ReleasedHost', '"reservedUntil" <= now()');
}

function hostReserved(until: Date, field: ReservedField): AppError {
  return new AppError('HOST_RESERVED', {
    detail:
      `This domain is reserved until ${until.toISOString()} for the account that released it. ` +
      'Choose a different domain, or wait until then.',
    fields: [{ pointer: `/${field}`, message: 'Reserved for the account that released it.' }],
  });
}

function tooManyReserved(field: ReservedField): AppError {
  return new AppError('CONFLICT', {
    detail:
      `Your account released ${MAX_RESERVED_PER_ACCOUNT} domains within ${RESERVED_DAYS} days, and they are still reserved for it. ` +
      'Use one of them, or wait until a reservation expires.',
    fields: [{ pointer: `/${field}`, message: 'Your account has too many reserved domains.' }],
  });
}
