import type pg from 'pg';

const PORTION = 10_000;

/**
 * Deletes the history of a project, webhook or connector before its row is deleted, in batches. Deleting the row would
 * delete the history too, but a long one takes longer than a single transaction may last. Rows added in the meantime
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
