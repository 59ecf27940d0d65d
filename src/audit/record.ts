import type { Viewer } from '../auth/viewer.ts';
import type { Transaction } from '../database/client.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { newId } from '../ids.ts';
import type { AuditAction } from './actions.ts';
import { keptValues, type Values } from './diff.ts';

/**
 * Records who did what, in the same transaction as the change, so an entry exists if and only if the change does.
 *
 * @param entry `changes` has the new values in the API's spelling, and `previous` has the old ones. Only what
 *   `keptValues` returns is written.
 */
export async function recordAudit(
  tx: Transaction,
  viewer: Viewer,
  entry: { action: AuditAction; projectId: string; targetId: string; changes?: Values; previous?: Values },
): Promise<void> {
  const { action, projectId, targetId, changes = {}, previous } = entry;
  const kept = (values: Values) => JSON.stringify(keptValues(action, values));
  const [kind, actorId, name] =
    viewer.kind === 'user'
      ? (['USER', viewer.userId, Prisma.sql`SELECT "subject" FROM "User" WHERE "id" = ${viewer.userId}`] as const)
      : ([
          'API_KEY',
          viewer.apiKeyId,
          Prisma.sql`SELECT "name" FROM "ApiKey" WHERE "id" = ${viewer.apiKeyId}`,
        ] as const);
  await tx.$executeRaw`
    INSERT INTO "AuditEntry"
      ("id", "userId", "projectId", "actorKind", "actorId", "actorName", "action", "targetId", "changes",
       "previous")
    VALUES (
      ${newId('AuditEntry')}, ${viewer.userId}, ${projectId}, ${kind}::"AuditActor", ${actorId}, coalesce((${name}), ''),
      ${action}, ${targetId}, ${kept(changes)}::jsonb, ${previous ? kept(previous) : null}::jsonb
    )`;
}
