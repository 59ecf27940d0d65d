import { hasPermission, requireCredentials } from '../../auth/require-permission.ts';
import type { Viewer } from '../../auth/viewer.ts';
import type { TenantTransaction } from '../../database/tenant-client.ts';
import { belongingTo } from '../../database/tenant-filter.ts';
import type { Endpoint, Project } from '../../generated/prisma/client.ts';
import type { ProjectUpstreamHeader } from '../headers/upstream-headers.ts';
import { isUnder } from '../headers/url-prefix.ts';
import { methodsOf } from './methods.ts';
import { openPart } from './path.ts';

/** What an endpoint lets buyers send to its upstream. */
type Reach = Pick<Endpoint, 'path' | 'methods' | 'forwardedHeaders'>;

/**
 * For changes that let buyers send more to an upstream that gets stored headers. Someone with a leaked key could
 * otherwise use these headers for requests that the seller never offered, such as `DELETE`.
 *
 * @param before the endpoint before the change. Its upstream URL can't change without `CREDENTIALS`.
 * @throws AppError `FORBIDDEN`
 */
export async function requireReach(
  tx: TenantTransaction,
  viewer: Viewer,
  before: Endpoint,
  changes: { [Field in keyof Reach]?: Reach[Field] | null | undefined },
): Promise<void> {
  if (hasPermission(viewer, before.projectId, 'CREDENTIALS')) return;
  const widened = widenedFields(before, {
    path: changes.path ?? before.path,
    methods: changes.methods ?? before.methods,
    forwardedHeaders: changes.forwardedHeaders ?? before.forwardedHeaders,
  });
  if (widened.length === 0 || !(await getsStoredHeaders(tx, before))) return;
  const fields = widened.map((field) => `\`${field}\``).join(', ');
  requireCredentials(viewer, before.projectId, `${fields} of an endpoint with upstream headers`);
}

/** The fields that let buyers send more than before: other methods, more headers, or longer paths. */
function widenedFields(before: Reach, after: Reach): (keyof Reach)[] {
  const hasMore = (one: readonly string[], other: readonly string[]) => other.some((item) => !one.includes(item));
  const path = openPart(after.path);
  return [
    ...(hasMore(methodsOf(before), methodsOf(after)) ? (['methods'] as const) : []),
    ...(hasMore(before.forwardedHeaders, after.forwardedHeaders) ? (['forwardedHeaders'] as const) : []),
    ...(path === '' || path === openPart(before.path) ? [] : (['path'] as const)),
  ];
}

/** Whether the gateway adds stored headers to an endpoint's requests: its own, or its project's for the upstream URL. */
async function getsStoredHeaders(tx: TenantTransaction, endpoint: Endpoint): Promise<boolean> {
  if (endpoint.secretUpstreamHeaders !== null) return true;
  const where = belongingTo(endpoint, { id: endpoint.projectId });
  const project: Pick<Project, 'upstreamHeaders'> | null = await tx.project.findFirst({
    where,
    select: { upstreamHeaders: true },
  });
  const headers = (project?.upstreamHeaders ?? []) as ProjectUpstreamHeader[];
  return headers.some(({ urlPrefix }) => isUnder(urlPrefix, endpoint.upstreamUrl));
}
