import { isForeignKeyViolation } from '../database/errors.ts';
import type { TenantClient } from '../database/tenant-client.ts';
import { type VisibleProjectId, visibleIdOf } from '../database/tenant-filter.ts';
import { notFound } from '../errors.ts';
import type { Project } from '../generated/prisma/client.ts';
import { visibleProject } from './access.ts';
import type { Viewer } from './viewer.ts';

/** A project that the viewer can see. */
export type VisibleProject = Project & { id: VisibleProjectId };

/**
 * The project that a change applies to. It may be deleted before the change is written; see `rethrowProjectGone`.
 *
 * @throws AppError `NOT_FOUND` if the viewer can't see it.
 */
export async function requireProject(
  tx: Pick<TenantClient, 'project'>,
  viewer: Viewer,
  projectId: string,
): Promise<VisibleProject> {
  const project = await tx.project.findFirst({
    where: visibleProject(viewer, projectId),
  });
  if (!project) throw notFound();
  return { ...project, id: visibleIdOf(project) };
}

/**
 * For writes to a project. Throws `NOT_FOUND` if the project was deleted in the meantime. Otherwise, throws the given
 * error.
 */
export function rethrowProjectGone(error: unknown): never {
  throw isForeignKeyViolation(error) ? notFound() : error;
}
