import { setTimeout as sleep } from 'node:timers/promises';
import type { Queryable } from './client.ts';
import { isStatementTimeout } from './errors.ts';
import { runStatement, type Statement, type StatementName, statement } from './statement.ts';

/** Small enough for rows of 10 MB each. */
const FIRST_BATCH_SIZE = 100;
const MAX_BATCH_SIZE = 5_000;
/** After a timeout, the next batch is smaller by this factor. */
const SHRINK = 4;
/** A batch that takes no longer than this may be followed by one twice as large. */
const QUICK_MILLISECONDS = 1_000;

/** How many rows the next batch may delete. */
export type BatchSize = {
  readonly rows: number;
  /** Call this after each batch that was deleted. */
  deleted(milliseconds: number): void;
  /** Call this after each batch that failed. @returns whether a smaller batch may succeed. */
  failed(error: unknown): boolean;
};

/** Finds the size at which a batch finishes well within the statement timeout. */
export function createBatchSize(): BatchSize {
  let rows = FIRST_BATCH_SIZE;
  return {
    get rows() {
      return rows;
    },
    deleted(milliseconds) {
      if (milliseconds <= QUICK_MILLISECONDS) rows = Math.min(rows * 2, MAX_BATCH_SIZE);
    },
    failed(error) {
      if (!isStatementTimeout(error) || rows === 1) return false;
      rows = Math.ceil(rows / SHRINK);
      return true;
    },
  };
}

/**
 * Deletes or changes batch after batch until one isn't full. Each batch is a separate statement, so a large backlog can't
 * time out as a whole.
 *
 * @param doBatch deletes or changes up to this many rows, and returns how many.
 * @returns how many rows there were.
 */
export async function inBatches(doBatch: (rows: number) => Promise<number>): Promise<number> {
  const size = createBatchSize();
  for (let total = 0; ; ) {
    const startedAt = performance.now();
    const limit = size.rows;
    try {
      const count = await doBatch(limit);
      size.deleted(performance.now() - startedAt);
      total += count;
      if (count < limit) return total;
    } catch (error) {
      if (!size.failed(error)) throw error;
    }
    // Leaves time for other statements.
    await sleep(performance.now() - startedAt, undefined, { ref: false });
  }
}

/**
 * Defines a statement that deletes a batch of the rows that meet a condition. It skips rows that others are changing; the
 * next sweep finds them.
 *
 * @param table not a partitioned table, because only `ctid` identifies the rows.
 */
export function deletionStatement<Name extends StatementName>(name: Name, table: string, condition: string) {
  const batch = `SELECT ctid FROM "${table}" WHERE ${condition} LIMIT $1 FOR UPDATE SKIP LOCKED`;
  return statement(name, `DELETE FROM "${table}" WHERE ctid = ANY (ARRAY(${batch}))`);
}

/**
 * Runs a statement made with `deletionStatement` until nothing is left to delete.
 *
 * @returns how many rows were deleted.
 */
export function deleteWhere(db: Queryable, deletion: (rows: number) => Statement): Promise<number> {
  return inBatches(async (rows) => (await runStatement(db, deletion(rows))).rowCount ?? 0);
}
