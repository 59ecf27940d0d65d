import { isVisible } from '../auth/access.ts';
import type { Requirement } from '../auth/permissions.ts';
import { narrowViewer } from '../auth/require-permission.ts';
import { notFound } from '../errors.ts';
import type { GraphQLContext } from '../schema/context.ts';
import { explainNotFound } from '../schema/explain-not-found.ts';
import { ROOT_FIELDS } from '../schema/field-permissions.ts';
import type { RestRoute } from './routes/route.ts';

const READ: Requirement = { anyOf: ['READ'], isForPeople: false };

/**
 * Checks whether the caller may still see the stored response to a request that they made before. They may have been
 * removed from the project in the meantime. If the response contains a secret, their role must still allow the request.
 *
 * @throws AppError `NOT_FOUND` or `FORBIDDEN`
 */
export async function requireAccessToStored(
  { at, once, isSecret }: Pick<RestRoute, 'at' | 'once' | 'isSecret'>,
  { projectId }: Readonly<Record<string, string>>,
  context: GraphQLContext,
): Promise<void> {
  if (projectId === undefined) return;
  const required = ((once || isSecret) && ROOT_FIELDS.Mutation[at[0]!]) || READ;
  const viewer = context.viewer.kind === 'apiKey' ? context.viewer : narrowViewer(context.viewer, required);
  await explainNotFound({ viewer, context, args: { projectId }, required }, async () => {
    if (!(await isVisible(context.prisma, viewer, projectId))) throw notFound();
  });
}
