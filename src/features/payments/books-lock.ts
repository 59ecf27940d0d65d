import { ADVISORY_LOCKS } from '../../database/advisory-locks.ts';
import type { Transaction } from '../../database/client.ts';

/**
 * Starts an entry in the books for the payment's project. Entries don't wait for each other. They wait only for a day
 * that is being closed, so everything booked on a day is in its summary. To avoid a deadlock, this locks the project
 * first, as project deletion does.
 *
 * @returns the project's milestones, or an empty list if the payment no longer exists.
 */
export async function enterBooks(tx: Transaction, paymentId: string): Promise<bigint[]> {
  const [row] = await tx.$queryRaw<{ milestones: string[] }[]>`
    SELECT pr."milestonesAtomic"::text[] AS "milestones",
      pg_advisory_xact_lock_shared(${ADVISORY_LOCKS.books}, hashtext(pr."id"))::text AS "locked"
    FROM "Payment" p JOIN "Project" pr ON pr."id" = p."projectId" WHERE p."id" = ${paymentId} FOR KEY SHARE OF pr`;
  return (row?.milestones ?? []).map(BigInt);
}

/** Locks a project so that it can't be deleted until the transaction ends. Take this lock before all others. */
export async function keepProject(tx: Transaction, projectId: string): Promise<void> {
  await tx.$queryRaw`SELECT 1 FROM "Project" WHERE "id" = ${projectId} FOR KEY SHARE`;
}

/** Waits until no entry in a project's books is in progress, then blocks new ones until the transaction ends. */
export async function closeBooks(tx: Transaction, projectId: string): Promise<void> {
  await tx.$queryRaw`SELECT pg_advisory_xact_lock(${ADVISORY_LOCKS.books}, hashtext(${projectId}))::text AS "locked"`;
}
