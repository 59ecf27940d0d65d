import { randomUUID } from 'node:crypto';
import type pg from 'pg';

/** Results are reused for this long, so frequent probes cost nothing. */
const KEEP_MILLISECONDS = 1_000;
/** Almost a whole PostgreSQL page (8 KiB), so two rows don't fit on one page. */
const ROW_BYTES = 7_000;

/**
 * Checks that the database accepts writes. When a disk is full, reads still work, and so do writes that fit into
 * existing pages. To detect a full disk, the check writes a row that needs a new page, rolls it back, and waits until
 * the commit is on disk. No other transaction waits for this one, and the next vacuum cleans up.
 *
 * @returns a function that rejects with the driver's error while the database doesn't accept writes.
 */
export function createReadiness(pool: pg.Pool): () => Promise<void> {
  let last: { at: number; outcome: Promise<void> } | undefined;
  return () => {
    if (!last || performance.now() - last.at > KEEP_MILLISECONDS) {
      const outcome = writeAndTakeBack(pool);
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

async function writeAndTakeBack(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  try {
    // Sent as one message, so poolers and slow networks see one short transaction. The savepoint's row is dead
    // immediately, but the commit is written to disk like any other.
    await client.query(`BEGIN; SET LOCAL synchronous_commit = on; SAVEPOINT written;
      INSERT INTO "ReadinessProbe" ("id", "page") VALUES ('${randomUUID()}', repeat('x', ${ROW_BYTES}));
      ROLLBACK TO SAVEPOINT written; COMMIT`);
    client.release();
  } catch (error) {
    // The transaction may still be open.
    client.release(true);
    throw error;
  }
}
