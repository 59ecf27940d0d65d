import { lockForNoKeyUpdate } from '../database/locks.ts';
import type { TenantTransaction } from '../database/tenant-client.ts';
import { type Filtered, visibleIdOf } from '../database/tenant-filter.ts';
import { notFound } from '../errors.ts';
import type { Prisma } from '../generated/prisma/client.ts';
import { visibleProject } from './access.ts';
import { lockVisible } from './lock-visible.ts';
import type { VisibleProject } from './require-project.ts';
import type { Viewer } from './viewer.ts';

/**
 * Locks a project until the transaction ends, so that changes to its members happen one at a time. Checks again that
 * the person may manage members. Otherwise, an admin who is being removed could still add someone.
 *
 * @throws AppError `NOT_FOUND`
 */
export async function lockToManage(tx: TenantTransaction, viewer: Viewer, projectId: string): Promise<VisibleProject> {
  const { userId } = viewer;
  const mayManage = { OR: [{ userId }, { members: { some: { userId, role: 'ADMIN' as const } } }] };
  return lockProject(tx, { AND: [visibleProject(viewer, projectId), mayManage] }, projectId, viewer);
}

/** Like `lockToManage`, but for changes that only the owner may make. */
export async function lockAsOwner(tx: TenantTransaction, viewer: Viewer, projectId: string): Promise<VisibleProject> {
  return lockProject(tx, { AND: [visibleProject(viewer, projectId), { userId: viewer.userId }] }, projectId, viewer);
}

/**
 * Locks a project that meets a condition. Throws AppError `NOT_FOUND` if it doesn't.
 *
 * @param viewer if given, nothing is locked unless the viewer can see the project.
 */
export async function lockProject(
  tx: TenantTransaction,
  where: Prisma.ProjectWhereInput & Filtered,
  projectId: string,
  viewer?: Viewer,
): Promise<VisibleProject> {
  await (viewer ? lockVisible(tx, viewer, 'project', projectId) : lockForNoKeyUpdate(tx, 'project', projectId));
  const project = await tx.project.findFirst({ where });
  if (!project) throw notFound();
  return { ...project, id: visibleIdOf(project) };
}
