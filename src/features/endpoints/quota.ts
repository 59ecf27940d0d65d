import type { Transaction } from '../../database/client.ts';
import { lockForNoKeyUpdate } from '../../database/locks.ts';
import { AppError } from '../../errors.ts';
import type { PrismaClient } from '../../generated/prisma/client.ts';

/**
 * The limit is the same on every tier, because every gateway keeps the endpoints of the projects that it serves in
 * memory.
 */
export const MAX_ENDPOINTS_PER_PROJECT = 1_000;
/** More than all processes create at the same time for one project. */
const MARGIN = 100;

/**
 * Whether a project has so few endpoints that one more is within the limit, whatever else is being created. Most
 * endpoints can then be created without a transaction and its four statements. Otherwise, use `requireEndpointQuota`.
 */
export async function isFarFromEndpointQuota(
  client: Pick<PrismaClient, 'endpoint'>,
  projectId: string,
): Promise<boolean> {
  return (await client.endpoint.count({ where: { projectId } })) < MAX_ENDPOINTS_PER_PROJECT - MARGIN;
}

/**
 * Locks the project until the transaction ends. Otherwise, two concurrent requests could exceed the limit. Existing
 * endpoints over the limit are kept.
 *
 * @param added how many endpoints will be created.
 * @throws AppError `ENDPOINT_LIMIT_REACHED` if the project would have more endpoints than the limit.
 */
export async function requireEndpointQuota(tx: Transaction, projectId: string, added: number): Promise<void> {
  if (added === 0) return;
  await lockForNoKeyUpdate(tx, 'project', projectId);
  const count = await tx.endpoint.count({ where: { projectId } });
  if (count + added <= MAX_ENDPOINTS_PER_PROJECT) return;
  const most = MAX_ENDPOINTS_PER_PROJECT.toLocaleString('en-US');
  const detail =
    count === 0
      ? `A project can have up to ${most} endpoints, and the copy would have more. Delete some.`
      : `A project can have up to ${most} endpoints, and this one already has that many. Delete one, or create another project.`;
  throw new AppError('ENDPOINT_LIMIT_REACHED', { detail });
}
