import type { Requirement } from '../auth/permissions.ts';
import { missingRole } from '../auth/require-permission.ts';
import type { Viewer } from '../auth/viewer.ts';
import { AppError } from '../errors.ts';
import { typeOfId } from '../ids.ts';
import type { GraphQLContext } from './context.ts';

type Request = {
  /** The viewer that the field ran with. */
  viewer: Viewer;
  /** The caller's own context, which can see more projects. */
  context: GraphQLContext;
  args: Record<string, unknown>;
  required: Requirement;
};

/**
 * Runs a field. If it doesn't find something because the caller's role in a project doesn't allow the field, or because
 * the account of the project's owner is blocked, the error says so instead. Only members of the project see this.
 *
 * @throws AppError `FORBIDDEN`, `ACCOUNT_BLOCKED`, or what the field throws.
 */
export async function explainNotFound<T>(request: Request, run: () => T | Promise<T>): Promise<T> {
  try {
    const result = await run();
    const error = result === null && isMemberOfBlocked(request.context.viewer) ? await reasonOf(request) : undefined;
    if (error) throw error;
    return result;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'NOT_FOUND') throw error;
    throw (await reasonOf(request)) ?? error;
  }
}

/** Whether the caller should be told why a field found nothing. */
export function isExplainable(viewer: Viewer, caller: Viewer): boolean {
  return viewer !== caller || isMemberOfBlocked(caller);
}

async function reasonOf({ viewer, context, args, required }: Request): Promise<AppError | undefined> {
  const allowed = membershipsOf(viewer);
  const all = membershipsOf(context.viewer);
  const blocked = blockedOwnersOf(context.viewer);
  for (const id of idsIn(args)) {
    const projectId = await projectOf(context, id);
    if (projectId === undefined || projectId in allowed) continue;
    const [role, blockedOwner] = [all[projectId], blocked[projectId]];
    if (role) return missingRole(role, required.anyOf);
    if (blockedOwner !== undefined) return ownerBlocked(blockedOwner);
  }
  return undefined;
}

const membershipsOf = (viewer: Viewer) => (viewer.kind === 'user' && viewer.memberships) || {};
const blockedOwnersOf = (viewer: Viewer) => (viewer.kind === 'user' && viewer.blockedOwners) || {};
const isMemberOfBlocked = (viewer: Viewer) => viewer.kind === 'user' && viewer.blockedOwners !== undefined;

/** Leaves out the reason for the block, which is between the operator and the owner. */
function ownerBlocked(subject: string): AppError {
  return new AppError('ACCOUNT_BLOCKED', {
    detail:
      `The operator has blocked the account of this project’s owner, ${subject}, so nobody can use the project. ` +
      'Your own account isn’t blocked. Ask the owner to contact the operator.',
  });
}

/** The strings in a field's arguments and its input that may be IDs. */
function idsIn({ input, ...args }: Record<string, unknown>): string[] {
  const values = Object.values({ ...args, ...(input as Record<string, unknown> | undefined) });
  return values.filter((value) => typeof value === 'string');
}

/** The project that an ID names or belongs to, even if it is someone else's. */
async function projectOf({ prisma }: GraphQLContext, id: string): Promise<string | undefined> {
  const find = { where: { id }, select: { projectId: true } } as const;
  switch (typeOfId(id)) {
    case 'Project':
      return id;
    case 'Endpoint':
      return (await prisma.endpoint.findUnique(find))?.projectId;
    case 'ApiKey':
      return (await prisma.apiKey.findUnique(find))?.projectId;
    case 'Webhook':
      return (await prisma.webhook.findUnique(find))?.projectId;
    case 'Connector':
      return (await prisma.connector.findUnique(find))?.projectId;
    case 'Delivery':
      return (await prisma.delivery.findFirst(find))?.projectId;
    case 'ProjectMember':
      return (await prisma.projectMember.findUnique(find))?.projectId;
    case 'Invitation':
      return (await prisma.invitation.findUnique(find))?.projectId;
    case 'Replay':
      return (await prisma.replay.findUnique(find))?.projectId;
    default:
      return undefined;
  }
}
