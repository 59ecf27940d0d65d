import type pg from 'pg';

/** Deletes the authorizations that nobody finished in time. */
export async function sweepConnectorAuthorizations(pool: pg.Pool): Promise<void> {
  await pool.query('DELETE FROM "ConnectorAuthorization" WHERE "expiresAt" <= now()');
}
