import { runWithPrisma } from '../database/statement.ts';
import type { TenantTransaction } from '../database/tenant-client.ts';
import type { Viewer } from './viewer.ts';
import { visibleQuery, visibleStatements } from './visible-statements.ts';

const inProject = <Table extends string, Strength extends string>(table: Table, strength: Strength) =>
  `SELECT 1 AS "found" FROM "${table}" item JOIN "Project" project ON project."id" = item."projectId"
   WHERE item."id" = $1 AND {visible project $2} ${strength} OF item` as const;

const LOCKS = {
  project: visibleStatements(
    'lock-visible-project',
    'SELECT 1 AS "found" FROM "Project" WHERE "id" = $1 AND {visible "Project" $2} FOR NO KEY UPDATE',
  ),
  webhook: visibleStatements('lock-visible-webhook', inProject('Webhook', 'FOR UPDATE')),
  'webhook-values': visibleStatements('lock-visible-webhook-values', inProject('Webhook', 'FOR NO KEY UPDATE')),
  connector: visibleStatements('lock-visible-connector', inProject('Connector', 'FOR UPDATE')),
};

/**
 * Locks a row until the transaction ends, if the viewer can see it. Otherwise, this does nothing, because strangers who
 * know an ID must not make its owner's changes wait. `project` and `webhook-values` let other transactions add rows that
 * refer to this one. Read the row afterward, because it may have changed before it was locked.
 */
export async function lockVisible(
  tx: Pick<TenantTransaction, '$queryRawUnsafe'>,
  viewer: Viewer,
  row: keyof typeof LOCKS,
  id: string,
): Promise<void> {
  await runWithPrisma(tx, visibleQuery(viewer, LOCKS[row], id));
}
