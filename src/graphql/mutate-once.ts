import { createHash } from 'node:crypto';
import type { ExecutionResult } from 'graphql';
import { isVisible } from '../auth/access.ts';
import type { Viewer } from '../auth/viewer.ts';
import { AppError, ERRORS, type ErrorCode, notFound } from '../errors.ts';
import type { IdempotencyStore, StoredResponse } from '../features/idempotency/store.ts';
import { type Outcome, runOnce } from '../http/run-once.ts';
import { currentRequest, runInRequest } from '../request-context.ts';
import type { GraphQLContext } from '../schema/context.ts';
import { projectsNamedIn } from './named-projects.ts';
import type { PlainRequest, PlainResponse } from './plain-requests.ts';

/**
 * What is stored: the text of the response, the projects that it is about, and the roles that the caller had. Processes
 * of the previous version store no projects.
 */
type Stored = { text: string; projectIds?: string[]; roles: Roles };
type Roles = Readonly<Record<string, string>>;
/** A project's owner isn't one of its members. */
const OWNER = 'OWNER';

/**
 * Runs a document of mutations at most once per Idempotency-Key. See `runOnce`. The document, its variables, and the
 * type of the response must be the same. A response is stored if any of the mutations succeeded.
 *
 * @throws AppError the same errors as `runOnce`. `NOT_FOUND` and `FORBIDDEN` if the caller may no longer see the stored
 *   response.
 */
export async function mutateOnce(
  store: IdempotencyStore,
  request: {
    key: string;
    plain: PlainRequest;
    context: GraphQLContext;
    log: Parameters<typeof runOnce>[1]['log'];
  },
  run: () => Promise<PlainResponse>,
): Promise<PlainResponse> {
  const { key, plain, context, log } = request;
  const { viewer } = context;
  const document = JSON.stringify(['POST', '/graphql', plain]);
  const { status, headers, body } = await runOnce(
    store,
    {
      viewer,
      header: key,
      log,
      fingerprint: createHash('sha256').update(document).digest('hex'),
      requireAccess: ({ body }) => requireAccess(body as Stored, context),
      outcomeOf: ({ body }) => outcomeOf(JSON.parse((body as Stored).text)),
    },
    async (): Promise<StoredResponse> => {
      // This comes before the run, because the caller may lose access during it.
      const named = await visibleAmong(projectsNamedIn(document), context);
      const changed = new Set<string>();
      const { body: text, ...head } = await runInRequest({ ...currentRequest()!, changedProjects: changed }, run);
      // The document and the response may name only something inside a project.
      const visible = [...named, ...(await visibleAmong([...changed, ...projectsNamedIn(text)], context))];
      const projectIds = [...new Set([...visible, ...changed])];
      return { ...head, body: { text, projectIds, roles: rolesOf(viewer, visible) } satisfies Stored };
    },
  );
  return { status, headers, body: (body as Stored).text };
}

/**
 * Checks that the caller still sees the projects that the first run was about, and that their roles haven't changed.
 * Otherwise, the caller might no longer be allowed to see the response.
 */
async function requireAccess(
  { text, projectIds = projectsNamedIn(text), roles }: Stored,
  { viewer, prisma }: GraphQLContext,
) {
  const now = rolesOf(viewer);
  if (Object.entries(roles).some(([projectId, role]) => (now[projectId] ?? OWNER) !== role)) {
    throw new AppError('FORBIDDEN', {
      detail: 'Your role in a project has changed since the first request with this `Idempotency-Key`.',
    });
  }
  for (const projectId of projectIds) {
    if (!(await isVisible(prisma, viewer, projectId))) throw notFound();
  }
}

/** The projects that the caller can see. A text can also name other people's projects. */
async function visibleAmong(ids: readonly string[], { viewer, prisma }: GraphQLContext): Promise<string[]> {
  const visible = await Promise.all(ids.map((id) => isVisible(prisma, viewer, id)));
  return ids.filter((_id, index) => visible[index]);
}

/** A caller's roles, including the role of owner in those of the given projects that aren't shared with the caller. */
function rolesOf(viewer: Viewer, visibleIds: readonly string[] = []): Roles {
  if (viewer.kind === 'apiKey') return {};
  return { ...Object.fromEntries(visibleIds.map((id) => [id, OWNER])), ...viewer.memberships };
}

/** A mutation succeeded if it has a result, or if its result is null because it is too large or one of its fields failed. */
function outcomeOf({ data, errors = [] }: ExecutionResult): Outcome {
  // `__typename` is a string, and results are objects.
  const hasResult = Object.values(data ?? {}).some((value) => typeof value === 'object' && value !== null);
  if (hasResult || errors.some(({ path = [] }) => path.length > 1)) return 'changed';
  const codes = errors.map(({ extensions }) => extensions?.code as ErrorCode);
  if (codes.includes('RESPONSE_TOO_LARGE')) return 'changed';
  return codes.every((code) => ERRORS[code]?.status < 500) ? 'unchanged' : 'unknown';
}
