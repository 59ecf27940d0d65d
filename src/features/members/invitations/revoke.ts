import { recordAudit } from '../../../audit/record.ts';
import type { Viewer } from '../../../auth/viewer.ts';
import { sharedNow } from '../../../clock.ts';
import type { Transaction } from '../../../database/client.ts';
import type { Invitation, Prisma } from '../../../generated/prisma/client.ts';

/**
 * Revokes the open invitations that someone sent, and those to the given addresses. Otherwise, that person could use one
 * to rejoin the project.
 */
export async function revokeSentBy(
  tx: Transaction,
  viewer: Viewer,
  { projectId, userId }: { projectId: string; userId: string },
  addresses: readonly string[] = [],
): Promise<void> {
  await revokeOpen(tx, viewer, { projectId, OR: [{ invitedById: userId }, { email: { in: [...addresses] } }] });
}

/** Revokes the open invitations that meet the condition. */
export async function revokeOpen(
  tx: Transaction,
  viewer: Viewer,
  where: Prisma.InvitationWhereInput & { projectId: string },
): Promise<void> {
  const revoked = await tx.invitation.updateManyAndReturn({
    where: { ...where, status: 'PENDING' },
    data: { status: 'REVOKED', endedAt: new Date(sharedNow()) },
  });
  for (const invitation of revoked) await recordRevoked(tx, viewer, invitation);
}

/** Records that an invitation was revoked. */
export async function recordRevoked(tx: Transaction, viewer: Viewer, invitation: Invitation): Promise<void> {
  const { id, projectId, email, role } = invitation;
  await recordAudit(tx, viewer, {
    action: 'invitation.revoked',
    projectId,
    targetId: id,
    changes: { email, role },
  });
}
