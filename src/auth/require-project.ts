import type { Database } from '../database/client.ts';
import { isForeignKeyViolation } from '../database/errors.ts';
import { notFound } from '../errors.ts';
import type { Project } from '../generated/prisma/client.ts';
import { visibleProject } from './access.ts';
import type { Viewer } from './viewer.ts';

/**
 * The project that a change applies to. It may be deleted before the change is written; see `rethrowProjectGone`.
 *
 * @throws AppError `NOT_FOUND` if the viewer can't see it.
 */
export async function requireProject(
  tx: Pick<Database['prisma'], 'project'>,
  viewer: Viewer,
  projectId: string,
): Promise<Project> {
  const project = await tx.project.findFirst({
    where: visibleProject(viewer, projectId),
  });
  if (!project) throw notFound();
  return project;
}

/**
 * For writes to a project. Throws `NOT_FOUND` if the project was deleted in the meantime. Otherwise, throws the given
 * error.
 */
export function rethrowProjectGone(error: unknown): never {
  throw isForeignKeyViolation(error) ? notFound() : error;
}
