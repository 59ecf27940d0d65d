import type { Viewer } from '../auth/viewer.ts';
import type { Transaction } from '../database/client.ts';
import { executeWithPrisma, preparedStatement } from '../database/statement.ts';
import type { AuditActor } from '../generated/prisma/client.ts';
import { newId } from '../ids.ts';
import { currentRequest } from '../request-context.ts';
import { type AuditAction, storedAction } from './actions.ts';
import { keptValues } from './diff.ts';
import type { Values } from './value-sizes.ts';

/**
 * What was done. `changes` contains the new values, formatted as in the API, and `previous` contains the old ones. Only
 * what `keptValues` returns is written.
 */
export type AuditRecord = {
  /** The entry's ID. Created in advance if the entry must sort before others in the same transaction. */
  id?: string;
  action: AuditAction;
  /** Null for changes to a user's account. */
  projectId: string | null;
  targetId: string;
  changes?: Values;
  previous?: Values;
};

/** Records who did what, in the same transaction as the change, so an entry exists if and only if the change does. */
export async function recordAudit(
  tx: Pick<Transaction, '$executeRawUnsafe'>,
  viewer: Viewer,
  entry: AuditRecord,
): Promise<void> {
  await executeWithPrisma(tx, RECORD(...auditValues(viewer, entry)));
}

/** Records someone's action in the log of an account that no longer owns the project. */
export async function recordForAccount(
  tx: Pick<Transaction, '$executeRawUnsafe'>,
  { userId: actorId }: Viewer,
  userId: string,
  entry: AuditRecord & { projectId: null },
): Promise<void> {
  await executeWithPrisma(tx, RECORD(...valuesOf(entry, { userId, actorKind: 'USER', actorId })));
}

/**
 * Records what an operator did to a user's account in two logs: the operator's own and the account's. The account's log
 * doesn't say who the operator is.
 */
export async function recordOperatorAudit(
  tx: Pick<Transaction, '$executeRawUnsafe'>,
  viewer: Viewer,
  entry: AuditRecord,
): Promise<void> {
  await recordAudit(tx, viewer, entry);
  await recordAsOperator(tx, entry.targetId, entry);
}

/** Records what an operator did, in the log of an account or of its project. The entry doesn't say who the operator is. */
export async function recordAsOperator(
  tx: Pick<Transaction, '$executeRawUnsafe'>,
  userId: string,
  entry: AuditRecord,
): Promise<void> {
  await executeWithPrisma(tx, RECORD(...valuesOf(entry, { userId, actorKind: 'OPERATOR', actorId: OPERATOR_ACTOR })));
}

/** The values of the entry that `recordAudit` writes, for `AUDIT_STEP` in the statement that makes the change. */
export function auditValues(viewer: Viewer, entry: AuditRecord) {
  const { userId } = viewer;
  const actor =
    viewer.kind === 'user'
      ? ({ userId, actorKind: 'USER', actorId: userId } as const)
      : ({ userId, actorKind: 'API_KEY', actorId: viewer.apiKeyId } as const);
  return valuesOf(entry, actor);
}

/** `userId`: the account whose log the entry belongs to. */
type Actor = { userId: string; actorKind: AuditActor; actorId: string };

/** The ID and name that identify an operator in other accounts' logs. */
export const OPERATOR_ACTOR = 'operator';

function valuesOf(entry: AuditRecord, { userId, actorKind, actorId }: Actor) {
  const { client = null, changedProjects } = currentRequest() ?? {};
  const { id = newId('AuditEntry'), action, projectId, targetId, changes = {}, previous } = entry;
  if (projectId !== null) changedProjects?.add(projectId);
  const kept = keptValues(action, { changes, previous });
  const storedChanges = JSON.stringify(kept.changes);
  const storedPrevious = kept.previous ? JSON.stringify(kept.previous) : null;
  return [
    ...([id, userId, projectId, actorKind, actorId, storedAction(action), targetId] as const),
    ...([storedChanges, storedPrevious, client] as const),
  ] as const;
}

/**
 * An entry goes to the log of the project's owner, even if someone else made the change. For a deleted project, that is
 * the person who deleted it.
 */
export const AUDIT_STEP = `
  INSERT INTO "AuditEntry"
    ("id", "userId", "projectId", "actorKind", "actorId", "actorName", "action", "targetId", "changes", "previous", "client")
  SELECT $1, CASE
    WHEN $6 = 'project.deleted' THEN $2 ELSE coalesce((SELECT "userId" FROM "Project" WHERE "id" = $3), $2)
  END, $3, $4::"AuditActor", $5, coalesce(
    (SELECT "subject" FROM "User" WHERE "id" = $5 UNION ALL SELECT "name" FROM "ApiKey" WHERE "id" = $5),
    CASE WHEN $4 = 'OPERATOR' THEN $5 ELSE '' END
  ), $6, $7, $8::jsonb, $9::jsonb, $10`;

const RECORD = preparedStatement('audit-record', AUDIT_STEP);
