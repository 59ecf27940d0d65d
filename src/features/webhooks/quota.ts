import { limitsOfOwner } from '../../auth/owner-limits.ts';
import type { Viewer } from '../../auth/viewer.ts';
import type { Transaction } from '../../database/client.ts';
import { lockForNoKeyUpdate } from '../../database/locks.ts';
import { AppError } from '../../errors.ts';
import type { PrismaClient } from '../../generated/prisma/client.ts';

/**
 * Locks the project until the transaction ends. Otherwise, two concurrent requests could exceed the limit. Existing
 * webhooks over the limit are kept.
 *
 * @param added how many webhooks will be created.
 * @throws AppError `WEBHOOK_LIMIT_REACHED` if the project would have more webhooks than its owner's tier includes.
 */
export async function requireWebhookQuota(
  tx: Transaction,
  viewer: Viewer,
  projectId: string,
  added: number,
): Promise<void> {
  const { maxWebhooksPerProject: most, whose } = await limitsOfOwner(tx, viewer, projectId);
  if (most === null || added === 0) return;
  await lockForNoKeyUpdate(tx, 'project', projectId);
  const count = await tx.webhook.count({ where: { projectId } });
  if (count + added > most) throw limitReached(whose, most, count);
}

/** How many more webhooks a project can have. Null means unlimited. */
export async function webhookQuota(
  db: Pick<PrismaClient, 'project' | 'webhook'>,
  viewer: Viewer,
  projectId: string,
): Promise<number | null> {
  const { maxWebhooksPerProject: most } = await limitsOfOwner(db, viewer, projectId);
  return most === null ? null : Math.max(0, most - (await db.webhook.count({ where: { projectId } })));
}

function limitReached(whose: string, most: number, count: number): AppError {
  const detail =
    count === 0
      ? `${whose} includes ${most} webhooks per project, and the copy would have more. Delete some or upgrade to a higher tier.`
      : `${whose} includes ${most} webhooks per project, and this project already has that many. Delete one or upgrade to a higher tier.`;
  return new AppError('WEBHOOK_LIMIT_REACHED', { detail });
}
