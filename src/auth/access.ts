import { marked, type TenantFilter, type VisibleProjectId } from '../database/tenant-filter.ts';
import { AppError, notFound } from '../errors.ts';
import type { Prisma } from '../generated/prisma/client.ts';
import { type IdType, isId, nameOfType, typeOfId } from '../ids.ts';
import type { Viewer } from './viewer.ts';

/** A Prisma client that can look up projects. Both the plain client and the tenant client can. */
type Projects = {
  project: {
    findMany(args: {
      where: Prisma.ProjectWhereInput & TenantFilter;
      select: { id: true };
      orderBy?: { id: 'desc' };
      take?: number;
    }): PromiseLike<{ id: string }[]>;
  };
};

/**
 * The only place that enforces tenancy. It decides which projects a viewer can see. Every query in every feature uses
 * this filter, so someone else's resource looks exactly like one that doesn't exist. You can spread this filter into
 * another one that has an `id`. Because it uses `AND`, neither condition replaces the other.
 */
export function visibleProjects(viewer: Viewer): { AND: Prisma.ProjectWhereInput[] } & TenantFilter {
  // Inside `AND`, this condition narrows a query's `id` instead of replacing it.
  return marked({ AND: [visibleTo(viewer)] });
}

function visibleTo(viewer: Viewer): Prisma.ProjectWhereInput {
  if (viewer.kind === 'apiKey') return { id: viewer.projectId };
  const { userId } = viewer;
  const shared = sharedProjectIds(viewer);
  if (shared.length === 0) return { userId };
  // A subscription can keep the same viewer for hours, so every statement checks the membership again.
  return { OR: [{ userId }, { id: { in: shared }, members: { some: { userId } } }] };
}

/** Other accounts' projects that a person can see. */
export function sharedProjectIds({ memberships = {} }: Extract<Viewer, { kind: 'user' }>): string[] {
  return Object.keys(memberships);
}

/**
 * The filter for one project.
 *
 * @throws AppError `NOT_FOUND` for invalid IDs.
 */
export function visibleProject(viewer: Viewer, id: string) {
  return { id: requireId('Project', id), ...visibleProjects(viewer) };
}

/** The filter for resources that belong to any visible project. */
export function inVisibleProject(viewer: Viewer): { project: Prisma.ProjectWhereInput } & TenantFilter {
  return marked({ project: visibleProjects(viewer) });
}

/**
 * The filter for lists in one project. A separate query first checks whether the project is visible. If that were a
 * condition in the list's query, the planner would expect almost no rows and sort all of them. If the project isn't
 * visible, the filter is an empty list, which matches nothing.
 */
export async function inProject(prisma: Projects, viewer: Viewer, projectId: string) {
  return marked({ projectId: (await isVisible(prisma, viewer, projectId)) ? projectId : { in: [] as string[] } });
}

/** If a search covers more projects than this, only the newest ones are searched. */
const MAX_SEARCHED_PROJECTS = 500;

/**
 * The IDs of the projects to search in: the given one, or all that the viewer can see.
 *
 * @throws AppError `NOT_FOUND` if the viewer can't see the given project.
 */
export async function searchableProjects(
  prisma: Projects,
  viewer: Viewer,
  projectId?: string | null,
): Promise<VisibleProjectId[]> {
  if (projectId != null) return [await requireVisible(prisma, viewer, projectId)];
  if (viewer.kind === 'apiKey') return [viewer.projectId as VisibleProjectId];
  const projects = await prisma.project.findMany({
    where: visibleProjects(viewer),
    select: { id: true },
    orderBy: { id: 'desc' },
    take: MAX_SEARCHED_PROJECTS,
  });
  return projects.map(({ id }) => id as VisibleProjectId);
}

/**
 * The project's ID if the viewer can see the project. Code that reads an entire project accepts only this type of ID.
 */
export async function visibleProjectId(
  prisma: Projects,
  viewer: Viewer,
  projectId: string,
): Promise<VisibleProjectId | undefined> {
  return (await isVisible(prisma, viewer, projectId)) ? (projectId as VisibleProjectId) : undefined;
}

/** Like `visibleProjectId`, but throws AppError `NOT_FOUND` if the viewer can't see the project. */
export async function requireVisible(prisma: Projects, viewer: Viewer, projectId: string): Promise<VisibleProjectId> {
  const visible = await visibleProjectId(prisma, viewer, requireId('Project', projectId));
  if (!visible) throw notFound();
  return visible;
}

/** Whether the viewer can see the project. */
export async function isVisible(prisma: Projects, viewer: Viewer, projectId: string) {
  if (viewer.kind === 'apiKey') return viewer.projectId === projectId;
  if (isRecentlyVisible(viewer, projectId)) return true;
  return (await findVisible(prisma, viewer, requireId('Project', projectId))).has(projectId);
}

/**
 * How long a project counts as visible after a query has found it. This must be short, because a subscription can keep
 * the same viewer for hours.
 */
const SHOWN_MILLISECONDS = 1_000;
/** When each viewer's queries last found each project, on a monotonic clock. */
const shown = new WeakMap<Viewer, Map<string, number>>();

/**
 * Call this with projects found by `visibleProjects`. Their contents can then be read without looking up the projects
 * again.
 */
export function rememberVisible(viewer: Viewer, projects: readonly { id: string }[]): void {
  const times = shown.get(viewer) ?? new Map();
  shown.set(viewer, times);
  for (const { id } of projects) times.set(id, performance.now());
}

function isRecentlyVisible(viewer: Viewer, projectId: string): boolean {
  const shownAt = shown.get(viewer)?.get(projectId) ?? Number.NEGATIVE_INFINITY;
  return performance.now() - shownAt < SHOWN_MILLISECONDS;
}

type Visible = { ids: Set<string>; found: Promise<ReadonlySet<string>> };
/** The projects to look up in each viewer's next statement. Each request has its own viewer. */
const lookups = new WeakMap<Viewer, Visible>();

/** Looks up whether a project is visible. Lookups in the same turn of the event loop share one statement. */
function findVisible(prisma: Projects, viewer: Viewer, projectId: string): Visible['found'] {
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
 * @throws AppError `NOT_FOUND` for invalid IDs.
 */
export function visibleItem(viewer: Viewer, type: IdType, id: string, projectId?: string | null) {
  const isShown = projectId != null && isRecentlyVisible(viewer, projectId);
  return marked({
    id: requireId(type, id),
    ...(projectId != null && { projectId: requireId('Project', projectId) }),
    ...(isShown ? {} : inVisibleProject(viewer)),
  });
}

/**
 * Rejects invalid IDs before they reach the database, which fails on NUL bytes.
 *
 * @throws AppError `NOT_FOUND`
 */
export function requireId(type: IdType, id: string): string {
  if (isId(type, id)) return id;
  const other = typeOfId(id);
  throw other
    ? new AppError('NOT_FOUND', {
        detail: `Not found. ${id} is the ID of ${nameOfType(other)}, not of ${nameOfType(type)}.`,
      })
    : notFound();
}

/** The filter for records that are kept after their project is deleted. */
export function visibleRecords(viewer: Viewer): { AND: Prisma.AuditEntryWhereInput[] } & TenantFilter {
  // Inside `AND`, this condition narrows a query's `projectId` instead of replacing it.
  return marked({ AND: [recordsOf(viewer)] });
}

/** Like `visibleRecords`, but without the projects that others share with the person. */
export function ownRecords(viewer: Viewer): { AND: Prisma.AuditEntryWhereInput[] } & TenantFilter {
  const { userId } = viewer;
  return marked({ AND: [viewer.kind === 'apiKey' ? { userId, projectId: viewer.projectId } : { userId }] });
}

/** The filter for the viewer's own records in a project, regardless of who owns the project. */
export function madeBy(viewer: Viewer, projectId: string): { projectId: string; actorId: string } & TenantFilter {
  return marked({ projectId, actorId: viewer.kind === 'apiKey' ? viewer.apiKeyId : viewer.userId });
}

function recordsOf(viewer: Viewer): Prisma.AuditEntryWhereInput {
  const own = ownRecords(viewer);
  const shared = viewer.kind === 'apiKey' ? [] : sharedProjectIds(viewer);
  return shared.length === 0 ? own : { OR: [own, { projectId: { in: shared } }] };
}

/**
 * The filter for users' accounts, which only operators can see. For everyone else, including an operator's API keys,
 * it matches no accounts.
 */
export function visibleUsers(viewer: Viewer): { AND: Prisma.UserWhereInput[] } & TenantFilter {
  // The reserved account that owns deleted resources has no issuer.
  return marked({ AND: [isOperator(viewer) ? { NOT: { issuer: '' } } : { id: { in: [] } }] });
}

/** The filter for the accounts that the viewer can see: their own, and visible projects' owners. Operators see all. */
export function visibleAccounts(viewer: Viewer): { AND: Prisma.UserWhereInput[] } & TenantFilter {
  if (isOperator(viewer)) return visibleUsers(viewer);
  return marked({ AND: [{ OR: [{ id: viewer.userId }, { projects: { some: visibleTo(viewer) } }] }] });
}

/** The filter for the account that a visible project belongs to. Throws AppError `NOT_FOUND` for invalid IDs. */
export function ownerOf(viewer: Viewer, projectId: string) {
  return marked({ projects: { some: visibleProject(viewer, projectId) } });
}

/** The filter for the contents of the projects that the viewer's account owns. */
export function ofOwnProjects({ userId }: Viewer): { project: { userId: string } } & TenantFilter {
  return marked({ project: { userId } });
}

/** The filter for the viewer's own account. */
export function ownAccount({ userId }: Viewer): { id: string } & TenantFilter {
  return marked({ id: userId });
}

/** Whether the viewer is an operator of this server. */
export function isOperator(viewer: Viewer): boolean {
  return viewer.kind === 'user' && viewer.isOperator === true;
}

/**
 * Call this before you read or change anything in another user's account.
 *
 * @throws AppError `NOT_FOUND` for everyone except operators, as if the user didn't exist.
 */
export function requireOperator(viewer: Viewer): void {
  if (!isOperator(viewer)) throw notFound();
}
