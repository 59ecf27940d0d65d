import type { Viewer } from '../../../auth/viewer.ts';
import type { Transaction } from '../../../database/client.ts';
import { lockForNoKeyUpdate } from '../../../database/locks.ts';
import { AppError } from '../../../errors.ts';

/** The maximum number of members and open invitations per project. */
export const MAX_PEOPLE_PER_PROJECT = 50;
/** The maximum number of projects shared with one person. Each of the person's requests reads all of them. */
const MAX_MEMBERSHIPS = 100;
const MAX_PER_PROJECT_AND_DAY = 50;
const MAX_PER_ACCOUNT_AND_DAY = 100;

const DAY_MILLISECONDS = 86_400_000;

/**
 * Limits a project's members and open invitations. Also limits the invitations that a project and an account can send
 * within 24 hours, including revoked ones. Lock the project first.
 *
 * @throws AppError `CONFLICT` or `RATE_LIMITED`.
 */
export async function requireInvitationQuota(
  tx: Transaction,
  { userId }: Viewer,
  projectId: string,
  now: Date,
): Promise<void> {
  // Without the lock, invitations to several projects at the same time could exceed the account's limit.
  await lockForNoKeyUpdate(tx, 'user', userId);
  const members = await tx.projectMember.count({ where: { projectId } });
  const open = await tx.invitation.count({ where: { projectId, status: 'PENDING', expiresAt: { gt: now } } });
  if (members + open >= MAX_PEOPLE_PER_PROJECT) {
    throw new AppError('CONFLICT', {
      detail: `A project can have up to ${MAX_PEOPLE_PER_PROJECT} members and open invitations. Remove or revoke one first.`,
    });
  }
  await requirePace(tx, { projectId }, MAX_PER_PROJECT_AND_DAY, now);
  await requirePace(tx, { invitedById: userId }, MAX_PER_ACCOUNT_AND_DAY, now);
}

async function requirePace(
  tx: Transaction,
  whose: { projectId: string } | { invitedById: string },
  most: number,
  now: Date,
): Promise<void> {
  const where = { ...whose, createdAt: { gt: new Date(now.getTime() - DAY_MILLISECONDS) } };
  const oldest = await tx.invitation.findFirst({ where, orderBy: { createdAt: 'desc' }, skip: most - 1 });
  if (!oldest) return;
  const milliseconds = oldest.createdAt.getTime() + DAY_MILLISECONDS - now.getTime();
  throw new AppError('RATE_LIMITED', {
    detail: `You can send up to ${most} invitations in 24 hours. Wait for the number of seconds in \`Retry-After\`.`,
    retryAfterSeconds: Math.max(1, Math.ceil(milliseconds / 1000)),
  });
}

/**
 * Checks whether a person can become a member of a project. Lock the project first.
 *
 * @throws AppError `CONFLICT` if they are already a member, own the project, or are a member of too many projects.
 */
export async function requireMembershipQuota(tx: Transaction, { userId }: Viewer, projectId: string): Promise<void> {
  if ((await tx.project.count({ where: { id: projectId, userId } })) > 0) {
    throw new AppError('CONFLICT', { detail: 'You own this project.' });
  }
  if ((await tx.projectMember.count({ where: { projectId, userId } })) > 0) {
    throw new AppError('CONFLICT', {
      detail: 'You are already a member of this project. The owner or an admin of the project can change your role.',
    });
  }
  if ((await tx.projectMember.count({ where: { userId } })) >= MAX_MEMBERSHIPS) {
    throw new AppError('CONFLICT', {
      detail: `You are a member of ${MAX_MEMBERSHIPS} projects, which is the limit. Leave one first.`,
    });
  }
}
