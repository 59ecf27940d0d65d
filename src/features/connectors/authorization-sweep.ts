import type pg from 'pg';
import { deleteWhere, deletionStatement } from '../../database/batches.ts';

/** Deletes the authorizations that nobody finished in time. */
export async function sweepConnectorAuthorizations(pool: pg.Pool): Promise<void> {
  await deleteWhere(pool, DELETE_EXPIRED);
}

const DELETE_EXPIRED = deletionStatement(
  'connector-authorizations-delete-expired',
  'ConnectorAuthorization',
  '"expiresAt" <= now()',
);
