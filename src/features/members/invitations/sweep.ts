import type pg from 'pg';
import { deleteWhere, deletionStatement } from '../../../database/batches.ts';
import { DELETED_PROJECT_ID } from '../../deletions/soft-delete.ts';

/**
 * How long answered, revoked, and expired invitations are kept. They count toward the limits for a day, after which those
 * of deleted projects are deleted.
 */
const KEPT_DAYS = 30;

/** Deletes old invitations, because they contain email addresses. */
export async function sweepInvitations(pool: pg.Pool): Promise<void> {
  await deleteWhere(pool, DELETE_ENDED);
}

const DELETE_ENDED = deletionStatement(
  'invitations-delete-ended',
  'Invitation',
  `coalesce("endedAt", "expiresAt") < now() - interval '${KEPT_DAYS} days'
     OR "projectId" = '${DELETED_PROJECT_ID}' AND "createdAt" < now() - interval '1 day'`,
);
