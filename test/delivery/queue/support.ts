import type { ClaimRequest } from '../../../src/delivery/queue/claim-result.ts';
import type { Stage } from '../support.ts';

/** A claim that nothing holds back. */
export const REQUEST: ClaimRequest = {
  limit: 100,
  retryLimit: 100,
  leaseSeconds: 30,
  defaultCapacity: 100,
  capacity: new Map<string, number>(),
};

/** Adds an account with a project. */
export async function addProjectAccount(stage: Stage): Promise<{ projectId: string; account: string }> {
  const projectId = await stage.addProject();
  const { rows } = await stage.pool.query('SELECT "userId" FROM "Project" WHERE "id" = $1', [projectId]);
  return { projectId, account: rows[0].userId };
}
