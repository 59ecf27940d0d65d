import { rethrowProjectGone } from '../../auth/require-project.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { visibleQuery, visibleStatements } from '../../auth/visible-statements.ts';
import type { Queryable } from '../../database/client.ts';
import { isUniqueViolation } from '../../database/errors.ts';
import { runStatement } from '../../database/statement.ts';
import { AppError } from '../../errors.ts';
import type { Endpoint } from '../../generated/prisma/client.ts';
import { methodsOf } from './methods.ts';

type Wanted = Pick<Endpoint, 'projectId' | 'path' | 'methods'>;

/**
 * Explains why an endpoint couldn't be written. The indexes on "Endpoint" reject it if another endpoint has a path with
 * the same shape and any of the same methods.
 *
 * @param wanted returns the values that would have been stored for the endpoint, or null if it was deleted.
 * @param except the endpoint's ID, if it was being changed.
 * @throws AppError `CONFLICT` that names the other endpoint, or `NOT_FOUND` if the project was deleted
 */
export async function rethrowPathConflict(
  error: unknown,
  {
    db,
    viewer,
    wanted,
    except,
  }: { db: Queryable; viewer: Viewer; wanted: () => Promise<Wanted | null>; except?: string },
): Promise<never> {
  if (!isUniqueViolation(error)) rethrowProjectGone(error);
  const values = await wanted();
  const other = values && (await findOverlapping(db, viewer, values, except));
  const named = other ? ` (${other.path}, ${other.id})` : '';
  throw new AppError('CONFLICT', {
    detail:
      `The project already has an endpoint with this path${named}, possibly with different parameter names, that serves ` +
      'some of the same methods. Change that endpoint, or choose a different path or other methods.',
    fields: [
      { pointer: '/path', message: `Already used by another endpoint in the project${named}.` },
      ...(other ? [{ pointer: '/methods', message: `That endpoint already serves ${other.shared.join(', ')}.` }] : []),
    ],
  });
}

const FIND_OVERLAPPING = visibleStatements(
  'endpoint-overlapping',
  `SELECT e.id, e.path, e.methods FROM "Endpoint" e
   JOIN "Project" p ON p.id = e."projectId" AND {visible p $4}
   WHERE p.id = $1 AND e.id IS DISTINCT FROM $2::text
     AND regexp_replace(e.path, '/:[^/]+', '/:', 'g') = regexp_replace($3::text, '/:[^/]+', '/:', 'g')
   ORDER BY e.id`,
);

/** The conflicting endpoint, and the methods that both serve. Undefined if it has been changed or deleted since. */
async function findOverlapping(db: Queryable, viewer: Viewer, wanted: Wanted, except: string | undefined) {
  const { projectId, path } = wanted;
  const { rows } = await runStatement(db, visibleQuery(viewer, FIND_OVERLAPPING, projectId, except ?? null, path));
  const methods = methodsOf(wanted);
  return rows
    .map(({ id, path, ...other }) => ({ id, path, shared: methodsOf(other).filter((one) => methods.includes(one)) }))
    .find(({ shared }) => shared.length > 0);
}
