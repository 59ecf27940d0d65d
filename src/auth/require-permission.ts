import { AppError } from '../errors.ts';
import { type Permission, type Requirement, ROLE_PERMISSIONS, type Role, SCOPES, type Scope } from './permissions.ts';
import type { Viewer } from './viewer.ts';

type ApiKeyViewer = Extract<Viewer, { kind: 'apiKey' }>;

/** Whether the viewer has a permission in a project. Call this only for projects that the viewer can see. */
export function hasPermission(viewer: Viewer, projectId: string, permission: Permission): boolean {
  if (viewer.kind === 'apiKey') return viewer.projectId === projectId && includes(viewer.scopes, permission);
  return includes(ROLE_PERMISSIONS[roleIn(viewer, projectId)], permission);
}

/**
 * For permissions that depend on more than the requested field, such as the values in its input.
 *
 * @param detail the error message for API keys that can't have the permission.
 * @throws AppError `FORBIDDEN`. Call this only for projects that the viewer can see.
 */
export function requirePermission(viewer: Viewer, projectId: string, permission: Permission, detail?: string): void {
  if (hasPermission(viewer, projectId, permission)) return;
  if (viewer.kind === 'apiKey') throw missingScope(viewer, [permission], detail);
  throw missingRole(roleIn(viewer, projectId), [permission]);
}

/**
 * For changes that would let someone with a leaked key redirect requests, or read secrets.
 *
 * @param fields the changed fields, for example, "`url`".
 * @throws AppError the same errors as `requirePermission`.
 */
export function requireCredentials(viewer: Viewer, projectId: string, fields: string): void {
  if (hasPermission(viewer, projectId, 'CREDENTIALS')) return;
  if (viewer.kind === 'user') throw missingRole(roleIn(viewer, projectId), ['CREDENTIALS']);
  throw new AppError('FORBIDDEN', {
    detail: `Changing ${fields} requires the scope CREDENTIALS, which this API key does not have. ${ownScopes(viewer)} ${getKeyWith(['CREDENTIALS'])}`,
  });
}

/**
 * The viewer, limited to the projects where they meet the requirement. Returns the same object if they meet it in all
 * the projects that they can see, which is always the case for people who aren't members of someone else's project.
 *
 * @throws AppError `FORBIDDEN` for an API key that doesn't meet it, whether or not the requested resource exists.
 */
export function narrowViewer(viewer: Viewer, { anyOf, isForPeople }: Requirement): Viewer {
  if (viewer.kind === 'apiKey') {
    if (isForPeople) throw new AppError('FORBIDDEN', { detail: onlyPeople(anyOf) });
    if (anyOf.length > 0 && !includesAny(viewer.scopes, anyOf)) throw missingScope(viewer, anyOf);
    return viewer;
  }
  if (!viewer.memberships || anyOf.length === 0) return viewer;
  const all = Object.entries(viewer.memberships);
  const able = all.filter(([, role]) => includesAny(ROLE_PERMISSIONS[role], anyOf));
  return able.length === all.length ? viewer : { ...viewer, memberships: Object.fromEntries(able) };
}

/** The error for a person whose role in a project doesn't allow something. */
export function missingRole(role: Role, anyOf: readonly Permission[]): AppError {
  const able = rolesWith(anyOf);
  const who =
    able.length > 1 ? 'An owner or admin of the project can change your role.' : 'Ask the owner of the project.';
  return new AppError('FORBIDDEN', {
    detail: `Your role in this project is ${role}. This requires the ${list(able)} role. ${who}`,
  });
}

function missingScope(viewer: ApiKeyViewer, anyOf: readonly Permission[], detail = onlyPeople(anyOf)): AppError {
  const scopes = SCOPES.filter((scope) => includes(anyOf, scope));
  if (scopes.length === 0) return new AppError('FORBIDDEN', { detail });
  return new AppError('FORBIDDEN', {
    detail: `This API key does not have the scope ${list(scopes)}. ${ownScopes(viewer)} ${getKeyWith(scopes)}`,
  });
}

/** The message for actions that API keys can't perform, regardless of their scopes. */
function onlyPeople(anyOf: readonly Permission[]): string {
  if (anyOf.length === 0) return 'API keys cannot do this. Use a user token.';
  return `API keys cannot do this. Use the user token of someone whose role in the project is ${list(rolesWith(anyOf))}.`;
}

const rolesWith = (anyOf: readonly Permission[]) =>
  (Object.keys(ROLE_PERMISSIONS) as Role[]).filter((one) => includesAny(ROLE_PERMISSIONS[one], anyOf));

/** What an API key may do, for errors about what it may not do. */
function ownScopes({ scopes }: ApiKeyViewer): string {
  const names = new Intl.ListFormat('en', { type: 'conjunction' }).format(scopes);
  return scopes.length === 1 ? `Its only scope is ${names}.` : `Its scopes are ${names}.`;
}

const getKeyWith = (scopes: readonly Scope[]) =>
  `An owner or admin of the project can create a key with ${list(scopes)}.`;

/** The viewer's role in a project that they can see. */
function roleIn(viewer: Extract<Viewer, { kind: 'user' }>, projectId: string): Role {
  return viewer.memberships?.[projectId] ?? 'OWNER';
}

const includes = (permissions: readonly Permission[], one: Permission) => permissions.includes(one);

const includesAny = (permissions: readonly Permission[], anyOf: readonly Permission[]) =>
  anyOf.some((one) => permissions.includes(one));

/** `A`, `A or B`, or `A, B, or C`. */
function list(names: readonly string[]): string {
  return new Intl.ListFormat('en', { type: 'disjunction' }).format(names);
}
