import type pg from 'pg';

const PORTION = 10_000;

/**
 * Deletes a project's, webhook's or connector's history in batches before its row is deleted. Deleting the row would
 * also delete the history, but deleting a long one takes longer than a transaction may last. Rows added in the meantime
 * are deleted with it.
 */
export async function clearHistory(
  pool: pg.Pool,
  owner: 'projectId' | 'webhookId' | 'connectorId',
  id: string,
): Promise<void> {
  for (const table of owner === 'projectId' ? ['Delivery', 'Event'] : ['Delivery']) {
    const portion = `SELECT "id" FROM "${table}" WHERE "${owner}" = $1 LIMIT ${PORTION}`;
    for (let deleted = PORTION; deleted === PORTION; ) {
      const result = await pool.query(`DELETE FROM "${table}" WHERE "id" = ANY (ARRAY(${portion}))`, [id]);
      deleted = result.rowCount ?? 0;
    }
  }
}
