import { ADVISORY_LOCKS } from '../../database/advisory-locks.ts';
import type { Transaction } from '../../database/client.ts';
import { lockAdvisory, lockForKeyShare } from '../../database/locks.ts';

/** Locks a project so that it can't be deleted until the transaction ends. Take this lock before all others. */
export async function keepProject(tx: Transaction, projectId: string): Promise<void> {
  await lockForKeyShare(tx, 'project', projectId);
}

/** Waits until no entry in a project's books is in progress, then blocks new ones until the transaction ends. */
export async function closeBooks(tx: Transaction, projectId: string): Promise<void> {
  await lockAdvisory(tx, ADVISORY_LOCKS.books, projectId);
}
