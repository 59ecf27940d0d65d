import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { runStatement, statement } from './statement.ts';

/** Results are reused for this long, so frequent probes cost nothing. */
const KEEP_MILLISECONDS = 1_000;
/** Orchestrators wait for a response for only a few seconds. */
const WAIT_MILLISECONDS = 3_000;
/** Almost a whole PostgreSQL page (8 KiB), so two rows don't fit on one page. */
const ROW_BYTES = 7_000;

/**
 * Checks that the database accepts writes. When a disk is full, reads still work, and so do writes that fit into
 * existing pages. To detect a full disk, the check writes a row that needs a new page, rolls it back, and waits until
 * the commit is on disk. No other transaction waits for this one, and the next vacuum cleans up.
 *
 * @returns a function that rejects with the driver's error while the database doesn't accept writes, or with an error
 *   that says so if the database takes too long.
 */
export function createReadiness(
  pool: pg.Pool,
  { waitMilliseconds = WAIT_MILLISECONDS }: { waitMilliseconds?: number } = {},
): () => Promise<void> {
  let last: { at: number; outcome: Promise<void> } | undefined;
  return () => {
    if (!last || performance.now() - last.at > KEEP_MILLISECONDS) {
      const outcome = writeWithin(pool, waitMilliseconds);
      const current = { at: Number.POSITIVE_INFINITY, outcome };
      last = current;
      // Concurrent callers share one check.
      const done = () => {
        current.at = performance.now();
      };
      outcome.then(done, done);
    }
    return last.outcome;
  };
}

/**
 * PostgreSQL's own timeouts don't apply to a commit: it waits for as long as a synchronous standby is unavailable. A
 * check that is still waiting is canceled, and its connection is closed, so that checks don't use up all connections.
 */
async function writeWithin(pool: pg.Pool, waitMilliseconds: number): Promise<void> {
  const check: Check = { id: randomUUID(), isGivenUp: false };
  const timeout = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    check.isGivenUp = true;
    check.client?.release(true);
    runStatement(pool, CANCEL(`%${check.id}%`)).catch(() => {});
    const message = `The database hasn't confirmed a write within ${waitMilliseconds / 1000} seconds.`;
    timeout.reject(Object.assign(new Error(message), { code: 'ETIMEDOUT' }));
  }, waitMilliseconds);
  try {
    await Promise.race([writeAndTakeBack(pool, check), timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The ID in the row is also used to find the server's process, because a pooler doesn't say which one it uses. */
type Check = { id: string; isGivenUp: boolean; client?: pg.PoolClient };

const CANCEL = statement(
  'readiness-cancel',
  `SELECT pg_cancel_backend(pid) FROM pg_stat_activity
  WHERE query LIKE $1 AND state <> 'idle' AND usename = current_user`,
);

async function writeAndTakeBack(pool: pg.Pool, check: Check): Promise<void> {
  const client = await pool.connect();
  if (check.isGivenUp) return client.release();
  check.client = client;
  try {
    // Sent as one message, so poolers and slow networks see one short transaction. The savepoint's row is dead
    // immediately, but the commit is written to disk like any other.
    await client.query(`BEGIN; SET LOCAL synchronous_commit = on; SAVEPOINT written;
      INSERT INTO "ReadinessProbe" ("id", "page") VALUES ('${check.id}', repeat('x', ${ROW_BYTES}));
      ROLLBACK TO SAVEPOINT written; COMMIT`);
    if (!check.isGivenUp) client.release();
  } catch (error) {
    // The transaction may still be open.
    if (!check.isGivenUp) client.release(true);
    throw error;
  }
}
