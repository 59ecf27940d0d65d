import type pg from 'pg';
import { ADVISORY_LOCKS } from '../../database/advisory-locks.ts';
import { runStatement, statement } from '../../database/statement.ts';

/** Each step counts at most one hour, but an hour can have a huge number of rows. */
const STATEMENT_TIMEOUT_MILLISECONDS = 5 * 60_000;

/** Planning a query over all partitions would take as long as counting, so use the queue's settings. */
const BEGIN = `
  BEGIN;
  SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT_MILLISECONDS};
  SET LOCAL plan_cache_mode = force_generic_plan;
  SET LOCAL enable_seqscan = off`;

const TRY_LOCK = statement('delivery-stats-try-lock', 'SELECT pg_try_advisory_xact_lock($1) AS "isOurs"');

/**
 * Runs a step that adds to rollups, in a transaction and in only one process at a time.
 *
 * @returns what the step returns, or false if another process is counting
 */
export async function inCountingStep(
  pool: pg.Pool,
  step: (client: pg.PoolClient) => Promise<boolean>,
): Promise<boolean> {
  const client = await pool.connect();
  try {
    await client.query(BEGIN);
    const { rows } = await runStatement<{ isOurs: boolean }>(client, TRY_LOCK(ADVISORY_LOCKS.deliveryRollups));
    const result = rows[0]!.isOurs && (await step(client));
    await client.query('COMMIT');
    client.release();
    return result;
  } catch (error) {
    // Closes the connection, which ends the transaction.
    client.release(true);
    throw error;
  }
}
