import { moveNewestEntries } from '../../../audit/move.ts';
import { recordAudit, recordForAccount } from '../../../audit/record.ts';
import type { Viewer } from '../../../auth/viewer.ts';
import { sharedNow } from '../../../clock.ts';
import type { Transaction } from '../../../database/client.ts';
import { lockForNoKeyUpdate } from '../../../database/locks.ts';
import { AppError } from '../../../errors.ts';
import type { Project, ProjectTransfer, User } from '../../../generated/prisma/client.ts';
import { newId } from '../../../ids.ts';
import { limitsOf } from '../../../limits/tiers.ts';
import { confirmProjectQuota, requireProjectQuota } from '../../projects/quota.ts';
import { revokeOpen } from '../invitations/revoke.ts';

/**
 * Makes the person who accepts an offer the owner of the project. The previous owner becomes an admin. Lock the project
 * first.
 *
 * @returns the project, and its previous owner's ID.
 * @throws AppError `ACCOUNT_BLOCKED`, `CONFLICT` if the person already owns the project, `PROJECT_LIMIT_REACHED` if they
 *   have too many, and `CONNECTOR_LIMIT_REACHED` or `WEBHOOK_LIMIT_REACHED` if their tier has no room.
 */
export async function changeOwner(
  tx: Transaction,
  viewer: Viewer,
  { projectId, email }: ProjectTransfer,
): Promise<{ project: Project; previousId: string }> {
  const before = await tx.project.findUniqueOrThrow({ where: { id: projectId }, include: { user: true } });
  const previous = before.user;
  if (previous.id === viewer.userId) throw new AppError('CONFLICT', { detail: 'You already own this project.' });
  const user = await lockAccount(tx, viewer.userId);
  for (const account of [previous, user]) requireUnblocked(account);
  await requireQuotas(tx, user, projectId);
  const now = new Date(sharedNow());
  const project = await tx.project.update({ where: { id: projectId }, data: { userId: user.id, updatedAt: now } });
  await tx.projectMember.deleteMany({ where: { projectId, userId: user.id } });
  await tx.projectMember.create({
    data: { id: newId('ProjectMember'), projectId, userId: previous.id, name: previous.subject, role: 'ADMIN' },
  });
  if (email !== null) await revokeOpen(tx, viewer, { projectId, email });
  // The log belongs to the account, which can read it even after the project is deleted.
  await moveNewestEntries(tx, projectId, previous.id);
  const entry = { action: 'project.transferred', targetId: projectId } as const;
  const values = { changes: { ownerId: user.id }, previous: { ownerId: previous.id } };
  await recordAudit(tx, viewer, { ...entry, projectId, ...values });
  await recordForAccount(tx, viewer, previous.id, { ...entry, projectId: null, ...values });
  await confirmProjectQuota(tx, user.id);
  return { project, previousId: previous.id };
}

/** Takes the same lock as creating a connector, so that the two together can't exceed the account's limit. */
async function lockAccount(tx: Transaction, userId: string): Promise<User> {
  await lockForNoKeyUpdate(tx, 'user', userId);
  return tx.user.findUniqueOrThrow({ where: { id: userId } });
}

/** Otherwise, the owner of a blocked account could get around the block by transferring the project. */
function requireUnblocked({ blockedAt }: User): void {
  if (blockedAt === null) return;
  throw new AppError('ACCOUNT_BLOCKED', {
    detail: 'The project can’t be transferred while the account of its current or new owner is blocked.',
  });
}

async function requireQuotas(tx: Transaction, user: User, projectId: string): Promise<void> {
  await requireProjectQuota(tx, user.id);
  const { maxConnectors, maxWebhooksPerProject } = limitsOf(user.tier, user.requestsPerMinute);
  const own = { OR: [{ projectId }, { project: { userId: user.id } }] };
  if (maxConnectors !== null && (await tx.connector.count({ where: own })) > maxConnectors) {
    const detail = `Your tier includes ${maxConnectors} connectors across all projects, and this project’s connectors would exceed that limit.`;
    throw new AppError('CONNECTOR_LIMIT_REACHED', { detail });
  }
  if (maxWebhooksPerProject !== null && (await tx.webhook.count({ where: { projectId } })) > maxWebhooksPerProject) {
    const detail = `Your tier includes ${maxWebhooksPerProject} webhooks per project, and this project has more.`;
    throw new AppError('WEBHOOK_LIMIT_REACHED', { detail });
  }
}
