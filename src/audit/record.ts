import type { Viewer } from '../auth/viewer.ts';
import type { Transaction } from '../database/client.ts';
import type { Step } from '../database/compose-statement.ts';
import { newId } from '../ids.ts';
import type { AuditAction } from './actions.ts';
import { keptValues, type Values } from './diff.ts';

/**
 * What was done. `changes` has the new values in the API's spelling, and `previous` has the old ones. Only what
 * `keptValues` returns is written.
 */
export type AuditRecord = {
  action: AuditAction;
  projectId: string;
  targetId: string;
  changes?: Values;
  previous?: Values;
};

/** Records who did what, in the same transaction as the change, so an entry exists if and only if the change does. */
export async function recordAudit(tx: Transaction, viewer: Viewer, entry: AuditRecord): Promise<void> {
  const { text, values } = auditStep(viewer, entry);
  await tx.$executeRawUnsafe(text, ...values);
}

/** Writes the same entry, but as a step of the statement that makes the change. */
export function auditStep(viewer: Viewer, entry: AuditRecord): Step {
  const { action, projectId, targetId, changes = {}, previous } = entry;
  const kept = (values: Values) => JSON.stringify(keptValues(action, values));
  const [actorKind, actorId] = viewer.kind === 'user' ? ['USER', viewer.userId] : ['API_KEY', viewer.apiKeyId];
  return {
    text: INSERT,
    values: [
      ...[newId('AuditEntry'), viewer.userId, projectId, actorKind, actorId, action, targetId, kept(changes)],
      previous ? kept(previous) : null,
    ],
  };
}

const INSERT = `
  INSERT INTO "AuditEntry"
    ("id", "userId", "projectId", "actorKind", "actorId", "actorName", "action", "targetId", "changes", "previous")
  SELECT $1, $2, $3, $4::"AuditActor", $5, coalesce(
    (SELECT "subject" FROM "User" WHERE "id" = $5 UNION ALL SELECT "name" FROM "ApiKey" WHERE "id" = $5), ''
  ), $6, $7, $8::jsonb, $9::jsonb`;
