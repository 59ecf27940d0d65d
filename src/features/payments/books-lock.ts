import type { Transaction } from '../../database/client.ts';

/** Keeps these locks apart from other advisory locks. */
const BOOKS_LOCK = 402;

/**
 * Begins an entry into the books of the payment's project. Entries do not wait for each other, only for a day that is
 * being closed: so what is booked on a day is in its summary. The project is locked first, as its deletion does, which
 * would wait for the payment while this waits for the project.
 *
 * @returns the project's milestones; none when the payment is gone
 */
export async function enterBooks(tx: Transaction, paymentId: string): Promise<bigint[]> {
  const [row] = await tx.$queryRaw<{ milestones: string[] }[]>`
    SELECT pr."milestonesAtomic"::text[] AS "milestones",
      pg_advisory_xact_lock_shared(${BOOKS_LOCK}, hashtext(pr."id"))::text AS "locked"
    FROM "Payment" p JOIN "Project" pr ON pr."id" = p."projectId" WHERE p."id" = ${paymentId} FOR KEY SHARE OF pr`;
  return (row?.milestones ?? []).map(BigInt);
}

/** Keeps a project from being deleted until the transaction ends; comes before all other locks. */
export async function keepProject(tx: Transaction, projectId: string): Promise<void> {
  await tx.$queryRaw`SELECT 1 FROM "Project" WHERE "id" = ${projectId} FOR KEY SHARE`;
}

/** Holds all entries into a project's books back until the transaction ends, having waited for those that were begun. */
export async function closeBooks(tx: Transaction, projectId: string): Promise<void> {
  await tx.$queryRaw`SELECT pg_advisory_xact_lock(${BOOKS_LOCK}, hashtext(${projectId}))::text AS "locked"`;
}
