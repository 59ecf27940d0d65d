import type pg from 'pg';

const PORTION = 10_000;

/**
 * Deletes the history of a project, webhook, or connector in batches before its row is deleted. Deleting the row would
 * also delete the history, but if the history is long, that takes longer than a transaction may last. History added in
 * the meantime is deleted along with the row.
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
