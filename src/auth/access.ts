import { AppError, notFound } from '../errors.ts';
import type { Prisma, PrismaClient } from '../generated/prisma/client.ts';
import { type IdType, isId } from '../ids.ts';
import type { Viewer } from './viewer.ts';

/**
 * The only place that enforces tenancy. It decides which projects a viewer can see. Every query in every feature uses
 * this filter, so someone else's resource looks exactly like one that doesn't exist. You can spread this filter into
 * another one that has an `id`: thanks to `AND`, neither condition replaces the other.
 */
export function visibleProjects(viewer: Viewer): Prisma.ProjectWhereInput {
  const { column, value } = visibleProjectColumn(viewer);
  // Inside `AND`, this condition narrows a query's `id` instead of replacing it.
  return { AND: [{ [column]: value }] };
}

/** The same filter for SQL: a column of "Project", and the value it has in visible projects. */
export function visibleProjectColumn(viewer: Viewer): { column: 'userId' | 'id'; value: string } {
  return viewer.kind === 'user'
    ? { column: 'userId', value: viewer.userId }
    : { column: 'id', value: viewer.projectId };
}

/**
 * The filter for one project.
 *
 * @throws AppError `NOT_FOUND` for impossible IDs.
 */
export function visibleProject(viewer: Viewer, id: string) {
  return { id: requireId('Project', id), ...visibleProjects(viewer) };
}

/** The filter for resources that belong to any visible project. */
export function inVisibleProject(viewer: Viewer): { project: Prisma.ProjectWhereInput } {
  return { project: visibleProjects(viewer) };
}

/**
 * The filter for lists in one project. A separate query first checks whether the project is visible. If that were a
 * condition in the list's query, the planner would expect almost no rows and sort all of them. If the project isn't
 * visible, the filter is an empty list, which matches nothing.
 */
export async function inProject(prisma: Pick<PrismaClient, 'project'>, viewer: Viewer, projectId: string) {
  return { projectId: (await isVisible(prisma, viewer, projectId)) ? projectId : { in: [] as string[] } };
}

/** Whether the viewer can see the project. */
export async function isVisible(prisma: Pick<PrismaClient, 'project'>, viewer: Viewer, projectId: string) {
  if (viewer.kind === 'apiKey') return viewer.projectId === projectId;
  if (wasJustShown(viewer, projectId)) return true;
  return (await findVisible(prisma, viewer, requireId('Project', projectId))).has(projectId);
}

/**
 * How long a project counts as visible after it was shown. This must be short, because a subscription can have the same
 * viewer for hours.
 */
const SHOWN_MILLISECONDS = 1_000;
/** When each viewer was last shown each project, by a monotonic clock. */
const shown = new WeakMap<Viewer, Map<string, number>>();

/**
 * Call this with projects found by `visibleProjects`. Their contents can then be read without looking up the projects
 * again.
 */
export function noteVisible(viewer: Viewer, projects: readonly { id: string }[]): void {
  const times = shown.get(viewer) ?? new Map();
  shown.set(viewer, times);
  for (const { id } of projects) times.set(id, performance.now());
}

function wasJustShown(viewer: Viewer, projectId: string): boolean {
  const shownAt = shown.get(viewer)?.get(projectId) ?? Number.NEGATIVE_INFINITY;
  return performance.now() - shownAt < SHOWN_MILLISECONDS;
}

type Visible = { ids: Set<string>; found: Promise<ReadonlySet<string>> };
/** The projects to look up in each viewer's next statement. Each request has its own viewer. */
const lookups = new WeakMap<Viewer, Visible>();

/** Looks up whether a project is visible. Lookups in the same turn of the event loop share one statement. */
function findVisible(prisma: Pick<PrismaClient, 'project'>, viewer: Viewer, projectId: string): Visible['found'] {
  let lookup = lookups.get(viewer);
  if (!lookup) {
    const ids = new Set<string>();
    lookup = { ids, found: find(ids) };
    lookups.set(viewer, lookup);
  }
  lookup.ids.add(projectId);
  return lookup.found;

  async function find(ids: Set<string>): Promise<ReadonlySet<string>> {
    await new Promise((resolve) => process.nextTick(resolve));
    lookups.delete(viewer);
    const where = { id: { in: [...ids] }, ...visibleProjects(viewer) };
    const projects = await prisma.project.findMany({ where, select: { id: true } });
    return new Set(projects.map(({ id }) => id));
  }
}

/**
 * The filter for one resource, in any visible project or only in the given one.
 *
 * @throws AppError `NOT_FOUND` for impossible IDs.
 */
export function visibleItem(viewer: Viewer, type: IdType, id: string, projectId?: string | null) {
  const isShown = projectId != null && wasJustShown(viewer, projectId);
  return {
    id: requireId(type, id),
    ...(projectId != null && { projectId: requireId('Project', projectId) }),
    ...(isShown ? {} : inVisibleProject(viewer)),
  };
}

/**
 * Only people can create and delete projects and API keys. Otherwise, someone with a leaked key could redirect
 * payments, or create another key that still works after the leaked one is revoked.
 *
 * @param detail what is forbidden, and who may do it. Set this if only part of the request is forbidden.
 * @throws AppError `FORBIDDEN` for API keys.
 */
export function requireUser(viewer: Viewer, detail?: string): asserts viewer is Extract<Viewer, { kind: 'user' }> {
  if (viewer.kind !== 'user') throw new AppError('FORBIDDEN', detail === undefined ? {} : { detail });
}

/**
 * Rejects impossible IDs before they reach the database, which fails on NUL bytes.
 *
 * @throws AppError `NOT_FOUND`
 */
export function requireId(type: IdType, id: string): string {
  if (!isId(type, id)) throw notFound();
  return id;
}

/** The filter for records that outlive the project they name. */
export function visibleRecords(viewer: Viewer): { userId: string; AND: { projectId?: string }[] } {
  // Inside `AND`, this condition narrows a query's `projectId` instead of replacing it.
  return { userId: viewer.userId, AND: viewer.kind === 'apiKey' ? [{ projectId: viewer.projectId }] : [] };
}
