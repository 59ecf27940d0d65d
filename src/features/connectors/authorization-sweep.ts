import type pg from 'pg';
import { deleteWhere } from '../../database/batches.ts';

/** Deletes the authorizations that nobody finished in time. */
export async function sweepConnectorAuthorizations(pool: pg.Pool): Promise<void> {
  await deleteWhere(pool, 'ConnectorAuthorization', '"expiresAt" <= now()');
}
