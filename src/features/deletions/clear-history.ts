import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import { type Bus, topics } from '../../bus/bus.ts';
import { createBatchSize } from '../../database/batches.ts';
import { createLoop } from '../../loop.ts';
import { DELETED_PROJECT_ID, DELETED_USER_ID } from './soft-delete.ts';

/**
 * The kinds of resources that can be deleted, each with the tables that hold its history, children before their
 * parents.
 */
const KINDS = [
  { table: 'Webhook', owner: ['projectId', DELETED_PROJECT_ID], column: 'webhookId', history: ['Delivery'] },
  { table: 'Connector', owner: ['projectId', DELETED_PROJECT_ID], column: 'connectorId', history: ['Delivery'] },
  {
    table: 'Project',
    owner: ['userId', DELETED_USER_ID],
    column: 'projectId',
    history: ['Delivery', 'Event', 'Payment', 'Customer', 'CustomerRevenue'],
  },
] as const;
type Kind = (typeof KINDS)[number];
/** What identifies a row for deletion, in tables without an `id`. */
const ROW_ADDRESS = new Map([['CustomerRevenue', 'ctid']]);
/** How much a batch deleted, and which project, webhook, or connector it belonged to. */
type Batch = { id: string; count: number; isTooLarge?: boolean };

/** How often to check without being notified while a resource is in use or another process is working on it. */
const RETRY_MILLISECONDS = 1_000;
/** How often to check without being notified in all other cases. */
const POLL_INTERVAL_MILLISECONDS = 60_000;

/** How many deleted projects, webhooks, and connectors still have history. */
export async function countDeletions(db: Pick<pg.Pool, 'query'>): Promise<number> {
  const counts = KINDS.map(
    ({ table, owner: [column, id] }) => `(SELECT count(*) FROM "${table}" WHERE "${column}" = '${id}')`,
  );
  // Excludes the reserved project itself.
  const { rows } = await db.query<{ count: number }>(`SELECT (${counts.join(' + ')} - 1)::int AS count`);
  return rows[0]!.count;
}

/**
 * Deletes the history of deleted projects, webhooks, and connectors in batches, and then their rows. Any number of
 * processes can do this at the same time, because each works on a different project, webhook, or connector.
 */
export function createHistoryClearing({
  pool,
  bus,
  log,
  onCleared,
}: {
  pool: pg.Pool;
  bus: Bus;
  log: Logger;
  /** Called with the number of deleted rows. */
  onCleared?: (rows: number) => void;
}) {
  const size = createBatchSize();
  let unsubscribe = () => {};

  /**
   * Deletes a batch of the history of the next deleted project, webhook, or connector, in ID order. If the statement
   * times out, tries again with a smaller batch. Returns undefined if there is nothing left to delete.
   */
  async function clearBatch(kind: Kind, after: string): Promise<Batch | undefined> {
    const client = await pool.connect();
    const startedAt = performance.now();
    let id: string | undefined;
    try {
      await client.query('BEGIN');
      id = await lockNext(client, kind, after);
      const count = id === undefined ? 0 : await deleteBatch(client, kind, id);
      await client.query('COMMIT');
      if (id === undefined) return undefined;
      size.deleted(performance.now() - startedAt);
      return { id, count };
    } catch (error) {
      await client.query('ROLLBACK').catch(() => {});
      const isTooLarge = size.failed(error);
      if (!isTooLarge)
        log.warn({ err: error, table: kind.table, id }, 'could not delete history; the next round will retry');
      return id === undefined ? undefined : { id, count: 0, isTooLarge };
    } finally {
      client.release();
    }
  }

  /** Returns the number of deleted rows, which is 0 while something else has to finish first. */
  async function deleteBatch(client: pg.PoolClient, { table, column, history }: Kind, id: string): Promise<number> {
    for (const child of history) {
      const condition = child === 'Payment' ? 'AND "leasedUntil" IS NULL' : '';
      const row = ROW_ADDRESS.get(child) ?? '"id"';
      const batch = `SELECT ${row} FROM "${child}" WHERE "${column}" = $1 ${condition} LIMIT ${size.rows}`;
      const { rowCount } = await client.query(`DELETE FROM "${child}" WHERE ${row} = ANY (ARRAY(${batch}))`, [id]);
      if (rowCount) return rowCount;
      // Payments that were sent to the chain are recorded first, which requires their customer and project.
      const open = `SELECT FROM "${child}" WHERE "${column}" = $1 LIMIT 1`;
      if (condition !== '' && (await client.query(open, [id])).rowCount) return 0;
    }
    await client.query(`DELETE FROM "${table}" WHERE "id" = $1`, [id]);
    log.info({ [column]: id }, 'deleted along with its entire history');
    return 1;
  }

  async function clearAll(kind: Kind, signal: AbortSignal): Promise<void> {
    // Anything that can't be cleared now is left for the next round.
    let after = '';
    while (!signal.aborted) {
      const startedAt = performance.now();
      const batch = await clearBatch(kind, after);
      if (!batch) return;
      if (batch.count > 0) onCleared?.(batch.count);
      else if (!batch.isTooLarge) after = batch.id;
      // Yield to other statements.
      await sleep(performance.now() - startedAt, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  const loop = createLoop({
    task: 'look for history to delete',
    intervalMilliseconds: RETRY_MILLISECONDS,
    log,
    async round(signal) {
      for (const kind of KINDS) await clearAll(kind, signal);
      return (await countDeletions(pool)) === 0 ? POLL_INTERVAL_MILLISECONDS : RETRY_MILLISECONDS;
    },
  });

  return {
    start(): void {
      unsubscribe = bus.subscribe(topics.deletions, loop.wake);
      loop.start();
    },
    async stop(): Promise<void> {
      unsubscribe();
      await loop.stop();
    },
  };
}

/** Locks the next deleted project, webhook, or connector that no other process is working on. */
async function lockNext(
  client: pg.PoolClient,
  { table, owner: [column, owner] }: Kind,
  after: string,
): Promise<string | undefined> {
  const { rows } = await client.query<{ id: string }>(
    `SELECT "id" FROM "${table}" WHERE "${column}" = $1 AND "id" <> $2 AND "id" > $3 ORDER BY "id" LIMIT 1
     FOR UPDATE SKIP LOCKED`,
    [owner, DELETED_PROJECT_ID, after],
  );
  return rows[0]?.id;
}
