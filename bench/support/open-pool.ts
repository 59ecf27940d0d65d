import pg from 'pg';

/**
 * Opens a pool. If the server closes a connection, only the statement that uses it fails. Without listeners, the event
 * would end the process: idle connections report it to the pool, and connections in use only to their own listeners.
 */
export function openPool(options: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(options);
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}
