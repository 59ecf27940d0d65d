import type pg from 'pg';

/** Runs statements in one transaction, without Prisma. Rolls back if the function throws. */
export async function inTransaction<T>(
  pool: Pick<pg.Pool, 'connect'>,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const result = await work(client);
    await client.query('COMMIT');
    client.release();
    return result;
  } catch (error) {
    // A connection in an unknown state isn't reused.
    client.release(true);
    throw error;
  }
}
