import { parse } from 'graphql';
import { z } from 'zod';
import { ROLE_PERMISSIONS, type Role } from '../../auth/permissions.ts';
import { Failure } from '../failure.ts';
import type { Session } from '../session.ts';
import type { Permission, Tool } from './tool.ts';

// These are strings instead of typed documents, because a server that runs the previous version doesn't have these
// fields.
const SCOPES_QUERY = parse('query McpViewer { viewer { scopes } }');
const ROLES_QUERY = parse('query McpRoles { projects(first: 100) { nodes { viewerRole } pageInfo { hasNextPage } } }');

const ROLES = Object.keys(ROLE_PERMISSIONS) as [Role, ...Role[]];

const scopesResult = z.object({ viewer: z.object({ scopes: z.array(z.string()).nullable() }) });
const rolesResult = z.object({
  projects: z.object({
    nodes: z.array(z.object({ viewerRole: z.enum(ROLES) })),
    pageInfo: z.object({ hasNextPage: z.boolean() }),
  }),
});

/** What the credential may do, according to the service. The service still checks every request. */
export type Granted = ReadonlySet<string> | 'unknown';

/**
 * Asks the service what an API key may do, or what a user's roles allow in any of their projects. Older servers return
 * neither.
 */
export async function readGranted({ client, signal }: Session): Promise<Granted> {
  const ask = (query: typeof SCOPES_QUERY) => client.run<unknown, object>(query, {}, signal);
  try {
    const { scopes } = scopesResult.parse(await ask(SCOPES_QUERY)).viewer;
    if (scopes) return new Set(scopes);
    const { nodes, pageInfo } = rolesResult.parse(await ask(ROLES_QUERY)).projects;
    if (pageInfo.hasNextPage) return 'unknown';
    return new Set(nodes.flatMap(({ viewerRole }): readonly string[] => ROLE_PERMISSIONS[viewerRole]));
  } catch (error) {
    if (error instanceof Failure && error.code === 'GRAPHQL_INVALID') return 'unknown';
    throw error;
  }
}

/** Whether a tool can work with this credential. */
export function isGranted({ requires }: Pick<Tool, 'requires'>, granted: Granted): boolean {
  if (granted === 'unknown') return true;
  return requires.some((permissions: readonly Permission[]) => permissions.every((one) => granted.has(one)));
}
