import type { VisibleProject } from '../../auth/require-project.ts';
import { sharedNow } from '../../clock.ts';
import type { TenantTransaction } from '../../database/tenant-client.ts';
import { ofProject } from '../../database/tenant-filter.ts';
import { AppError } from '../../errors.ts';

/** The same on every tier. Keys that are revoked or have expired don't count. */
export const MAX_API_KEYS_PER_PROJECT = 100;

/**
 * Call this with the project locked. Otherwise, two concurrent requests could exceed the limit. Existing keys over the
 * limit keep working.
 *
 * @throws AppError `API_KEY_LIMIT_REACHED` if the project has no room for another key.
 */
export async function requireApiKeyQuota(tx: TenantTransaction, project: VisibleProject): Promise<void> {
  const isActive = { revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: new Date(sharedNow()) } }] };
  const count = await tx.apiKey.count({ where: { AND: [ofProject(project.id), isActive] } });
  if (count < MAX_API_KEYS_PER_PROJECT) return;
  throw new AppError('API_KEY_LIMIT_REACHED', {
    detail: `A project can have up to ${MAX_API_KEYS_PER_PROJECT} API keys, and this one already has that many. Revoke one.`,
  });
}
