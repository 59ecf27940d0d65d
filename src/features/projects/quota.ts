import { ADVISORY_LOCKS } from '../../database/advisory-locks.ts';
import type { Transaction } from '../../database/client.ts';
import { lockAdvisory } from '../../database/locks.ts';
import { AppError } from '../../errors.ts';

/** The limit is the same on every tier. Projects that others share with an account don't count. */
export const MAX_PROJECTS_PER_ACCOUNT = 200;

/**
 * Rejects a change early if it would add a project to a full account. A concurrent change may still fill the account, so
 * also call `confirmProjectQuota`.
 *
 * @throws AppError `PROJECT_LIMIT_REACHED`
 */
export async function requireProjectQuota(tx: Transaction, userId: string): Promise<void> {
  if ((await countProjects(tx, userId)) >= MAX_PROJECTS_PER_ACCOUNT) throw limitReached();
}

/**
 * Checks the number of projects after one was added to an account, and locks it until the transaction ends. Otherwise,
 * two concurrent requests could exceed the limit. Call this after taking every other lock and after all slow
 * statements: a transaction that creates a project may hold the lock on host names, so it must never wait long for this
 * lock. For that reason, this isn't the account's lock, which is held while a project is copied or transferred.
 *
 * @throws AppError `PROJECT_LIMIT_REACHED` if the account has more projects than the limit.
 */
export async function confirmProjectQuota(tx: Transaction, userId: string): Promise<void> {
  await lockAdvisory(tx, ADVISORY_LOCKS.projects, userId);
  if ((await countProjects(tx, userId)) > MAX_PROJECTS_PER_ACCOUNT) throw limitReached();
}

const countProjects = (tx: Transaction, userId: string) => tx.project.count({ where: { userId } });

function limitReached(): AppError {
  return new AppError('PROJECT_LIMIT_REACHED', {
    detail: `An account can have up to ${MAX_PROJECTS_PER_ACCOUNT} projects, and yours already has that many. Delete one.`,
  });
}
