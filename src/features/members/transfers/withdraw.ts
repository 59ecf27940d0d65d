import { recordAudit } from '../../../audit/record.ts';
import type { Viewer } from '../../../auth/viewer.ts';
import { sharedNow } from '../../../clock.ts';
import type { Transaction } from '../../../database/client.ts';
import type { Prisma } from '../../../generated/prisma/client.ts';

/** Withdraws a project's open offer if it meets the condition. Returns whether it did. Lock the project first. */
export async function withdrawOffers(
  tx: Transaction,
  viewer: Viewer,
  where: Prisma.ProjectTransferWhereInput & { projectId: string },
): Promise<boolean> {
  const withdrawn = await tx.projectTransfer.updateManyAndReturn({
    where: { ...where, status: 'PENDING' },
    data: { status: 'WITHDRAWN', endedAt: new Date(sharedNow()) },
  });
  for (const { id, projectId, userId, email } of withdrawn) {
    await recordAudit(tx, viewer, {
      action: 'transfer.withdrawn',
      projectId,
      targetId: id,
      changes: { userId, email },
    });
  }
  return withdrawn.length > 0;
}
