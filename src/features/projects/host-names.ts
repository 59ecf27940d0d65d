import type pg from 'pg';
import { ADVISORY_LOCKS } from '../../database/advisory-locks.ts';
import { deleteWhere, deletionStatement } from '../../database/batches.ts';
import type { Transaction } from '../../database/client.ts';
import { lockAdvisory } from '../../database/locks.ts';
import { executeWithPrisma, runWithPrisma, statement } from '../../database/statement.ts';
import { AppError } from '../../errors.ts';

/** How long a released host name is unavailable to other accounts, because buyers may still be using it. */
const RESERVED_DAYS = 30;

/** Without this limit, an account could block any number of host names by taking and releasing them. */
const MAX_RESERVED_PER_ACCOUNT = 100;

/** Most transactions that lock a project end much sooner. */
const MAX_LOCK_WAIT_MILLISECONDS = 1_000;

/** Marks reservations for names under the operator's gateway domain. */
export const SLUG_PREFIX = 'slug:';

type ReservedField = 'gatewayHost' | 'slug';

/**
 * Makes transactions that take host names wait for each other. Otherwise, two projects that swap names would deadlock.
 * Take this lock before locks on host names and on projects that others can see. From then on, the transaction waits for
 * each other lock only briefly, because all accounts wait for it: someone could hold a project's lock for seconds, for
 * example, by deleting a large project.
 *
 * @param accountId who makes the change. Only one of their transactions is in the queue at a time, so that the others don't
 *   wait briefly for each of them.
 */
export async function queueForHosts(tx: Transaction, accountId?: string): Promise<void> {
  if (accountId !== undefined) await lockAdvisory(tx, ADVISORY_LOCKS.hostsOfAccount, accountId);
  await runWithPrisma(tx, QUEUE(ADVISORY_LOCKS.hosts));
}

/** The timeout applies only after the wait in the queue. */
const QUEUE = statement(
  'host-queue',
  `SELECT set_config('lock_timeout', '${MAX_LOCK_WAIT_MILLISECONDS}ms', true) AS "timeout"
   FROM (SELECT pg_advisory_xact_lock($1, 0)::text AS "locked" OFFSET 0) AS queue WHERE "locked" IS NOT NULL`,
);

const LOCK_HOST = statement('host-lock', `SELECT "gatewayHost" FROM "Project" WHERE "id" = $1 FOR UPDATE`);

/** A project's host name. Locks it until the transaction ends. */
export async function lockHost(tx: Transaction, projectId: string): Promise<string | null> {
  const [row] = await runWithPrisma<{ gatewayHost: string | null }>(tx, LOCK_HOST(projectId));
  return row?.gatewayHost ?? null;
}

const TAKE_RELEASED = statement(
  'released-host-take',
  `DELETE FROM "ReleasedHost"
   WHERE "host" = $1 AND ("userId" = $2 OR "reservedUntil" <= statement_timestamp())`,
);

const COUNT_RESERVED = statement(
  'released-host-count',
  `SELECT count(*)::int AS "count" FROM "ReleasedHost"
   WHERE "userId" = $1 AND "reservedUntil" > statement_timestamp()
     AND starts_with("host", $2) = $3`,
);

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
  const taken = await executeWithPrisma(tx, TAKE_RELEASED(host, userId));
  if (taken > 0) return;
  await refuseReserved(tx, host, userId, field);
  if (!(await mayReserve(tx, userId, field))) throw tooManyReserved(field);
}

/** Whether the account may release another name, which is then reserved for it. */
export async function mayReserve(tx: Transaction, userId: string, field: ReservedField): Promise<boolean> {
  const [row] = await runWithPrisma<{ count: number }>(tx, COUNT_RESERVED(userId, SLUG_PREFIX, field === 'slug'));
  return row!.count < MAX_RESERVED_PER_ACCOUNT;
}

const FIND_RESERVED = statement(
  'released-host-find-reserved',
  `SELECT "reservedUntil" FROM "ReleasedHost"
   WHERE "host" = $1 AND "userId" <> $2 AND "reservedUntil" > statement_timestamp()`,
);

/**
 * @throws AppError `HOST_RESERVED` if the name is reserved for another account.
 */
export async function refuseReserved(
  tx: Transaction,
  host: string,
  userId: string,
  field: ReservedField = 'gatewayHost',
): Promise<void> {
  const [reserved] = await runWithPrisma<{ reservedUntil: Date }>(tx, FIND_RESERVED(host, userId));
  if (reserved) throw hostReserved(reserved.reservedUntil, field);
}

const RESERVE = statement(
  'released-host-reserve',
  `INSERT INTO "ReleasedHost" ("host", "userId", "reservedUntil")
   VALUES ($1, $2, statement_timestamp() + make_interval(days => $3::int))
   ON CONFLICT ("host") DO UPDATE SET "userId" = EXCLUDED."userId", "reservedUntil" = EXCLUDED."reservedUntil"`,
);

/** Reserves a released host name for its previous account. */
export async function releaseHost(tx: Transaction, host: string, userId: string): Promise<void> {
  await executeWithPrisma(tx, RESERVE(host, userId, RESERVED_DAYS));
}

/** Deletes expired reservations. Returns how many there were. */
export async function sweepReleasedHosts(pool: pg.Pool): Promise<number> {
  return deleteWhere(pool, DELETE_EXPIRED);
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

const DELETE_EXPIRED = deletionStatement('released-hosts-delete-expired', 'ReleasedHost', '"reservedUntil" <= now()');
