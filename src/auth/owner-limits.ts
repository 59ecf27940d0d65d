import type { PrismaClient } from '../generated/prisma/client.ts';
import { type Limits, limitsOf } from '../limits/tiers.ts';
import type { Viewer } from './viewer.ts';

/**
 * The limits that apply to a project. These are its owner's limits, even if someone else makes the change.
 *
 * @returns the limits, and the name of the tier for error messages.
 */
export async function limitsOfOwner(
  tx: Pick<PrismaClient, 'project'>,
  viewer: Viewer,
  projectId: string,
): Promise<Limits & { whose: string }> {
  const isShared = viewer.kind === 'user' && viewer.memberships?.[projectId] !== undefined;
  if (!isShared) return { ...limitsOf(viewer.tier, viewer.requestsPerMinute), whose: 'Your tier' };
  const { user } = await tx.project.findUniqueOrThrow({ where: { id: projectId }, select: { user: true } });
  return { ...limitsOf(user.tier, user.requestsPerMinute), whose: 'The tier of the project’s owner' };
}
