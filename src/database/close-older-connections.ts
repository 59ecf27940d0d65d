import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { runStatement, statement } from './statement.ts';
import { databaseTime } from './time.ts';

/** The service's pools. A connection that only listens for notifications has no prepared statements. */
const POOLS = ['tollgate', 'tollgate-queue', 'tollgate-ledger'];
/** A process could be about to use a connection that has just become idle. */
const IDLE = "state = 'idle' AND state_change < clock_timestamp() - interval '100 ms'";
const PAUSE_MILLISECONDS = 100;

const CLOSE_IDLE = statement(
  'connections-close-idle',
  `
  WITH older AS (
    SELECT pid, ${IDLE} AS "isIdle" FROM pg_stat_activity
    WHERE datname = current_database() AND usename = current_user AND application_name = ANY ($1)
      AND backend_start < $2 AND pid <> pg_backend_pid()
  )
  SELECT count(*)::int AS "found", count(pg_terminate_backend(pid)) FILTER (WHERE "isIdle") AS "closed" FROM older`,
);

/**
 * Closes pooled connections that were opened before the tables changed, each as soon as it is idle. The processes then
 * open new ones. Prepared statements on the old connections would fail: once in this version, and repeatedly in the
 * last release (`stale-plans.ts`).
 *
 * @param waitMilliseconds how long to wait for busy connections before leaving them alone.
 */
export async function closeOlderConnections(client: pg.Client, waitMilliseconds: number): Promise<void> {
  const now = await databaseTime(client);
  const deadline = performance.now() + waitMilliseconds;
  for (;;) {
    const { rows: counts } = await runStatement<{ found: number }>(client, CLOSE_IDLE(POOLS, now));
    if (counts[0]!.found === 0 || performance.now() >= deadline) return;
    await sleep(PAUSE_MILLISECONDS);
  }
}
