import { randomUUID } from 'node:crypto';
import type pg from 'pg';

/** Answers that are younger are given again: probes may come as often as they like. */
const KEEP_MILLISECONDS = 1_000;
/** Nearly a page of PostgreSQL, which are 8 KiB. Two rows do not fit into one. */
const ROW_BYTES = 7_000;

/**
 * Whether the database can be written. It writes a row that needs a new page, takes it back, and waits for the commit to
 * be on the disk: what is only read answers well while the disk is full, and so does a change that finds room in a page
 * there is. No other transaction waits for it, and what it leaves behind is for the next vacuum.
 *
 * @returns a function that rejects with the error of the driver while the database takes no changes.
 */
export function createReadiness(pool: pg.Pool): () => Promise<void> {
  let last: { at: number; outcome: Promise<void> } | undefined;
  return () => {
    if (!last || performance.now() - last.at > KEEP_MILLISECONDS) {
      const outcome = writeAndTakeBack(pool);
      const current = { at: Number.POSITIVE_INFINITY, outcome };
      last = current;
      // While it is being found out everybody waits for the same answer.
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
    // In one message, so that poolers and slow networks see one short transaction. The savepoint's row is dead at once,
    // and the commit that remains is written out like any other.
    await client.query(`BEGIN; SET LOCAL synchronous_commit = on; SAVEPOINT written;
      INSERT INTO "ReadinessProbe" ("id", "page") VALUES ('${randomUUID()}', repeat('x', ${ROW_BYTES}));
      ROLLBACK TO SAVEPOINT written; COMMIT`);
    client.release();
  } catch (error) {
    // It may have been left within the transaction.
    client.release(true);
    throw error;
  }
}
