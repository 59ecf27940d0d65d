import type { Database } from '../../database/client.ts';
import type { Connector } from '../../generated/prisma/client.ts';

/** A connector whose owner must connect it again before `credentialExpiresAt`. */
export type ExpiringCredential = Pick<Connector, 'id' | 'projectId' | 'type'> & { credentialExpiresAt: Date };

/**
 * Lists the connectors of all projects whose credential ends within that many days, soonest first. Disabled connectors
 * and credentials that have already ended aren't listed.
 */
export async function listExpiringCredentials(
  { pool }: Pick<Database, 'pool'>,
  { withinDays }: { withinDays: number },
): Promise<ExpiringCredential[]> {
  const { rows } = await pool.query<ExpiringCredential>(
    `SELECT "id", "projectId", "type", "credentialExpiresAt" FROM "Connector"
     WHERE "credentialExpiresAt" > now() AND "credentialExpiresAt" <= now() + make_interval(days => $1) AND "isActive"
     ORDER BY "credentialExpiresAt"`,
    [withinDays],
  );
  return rows;
}
