import { ADVISORY_LOCKS } from '../../database/advisory-locks.ts';
import type { Transaction } from '../../database/client.ts';

/** Locks a project so that it can't be deleted until the transaction ends. Take this lock before all others. */
export async function keepProject(tx: Transaction, projectId: string): Promise<void> {
  await tx.$queryRaw`SELECT 1 FROM "Project" WHERE "id" = ${projectId} FOR KEY SHARE`;
}

/** Waits until no entry in a project's books is in progress, then blocks new ones until the transaction ends. */
export async function closeBooks(tx: Transaction, projectId: string): Promise<void> {
  await tx.$queryRaw`SELECT pg_advisory_xact_lock(${ADVISORY_LOCKS.books}, hashtext(${projectId}))::text AS "locked"`;
}
