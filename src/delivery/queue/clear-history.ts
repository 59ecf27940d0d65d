import type pg from 'pg';

const PORTION = 10_000;

/**
 * Deletes the history of a project, webhook or connector that is about to be deleted, in portions. With its row it would
 * go too, but in one transaction, and a long history takes longer than any may last. What comes in meanwhile goes with
 * the row.
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
