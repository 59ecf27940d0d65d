import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import { type Bus, topics } from '../../bus/bus.ts';
import { createBatchSize } from '../../database/batches.ts';
import { runStatement, statement, statements } from '../../database/statement.ts';
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
/** How much a batch deleted, and which project, webhook, or connector it belonged to. */
type Batch = { id: string; count: number; isTooLarge?: boolean };

const kindOf = (table: Kind['table']) => KINDS.find((kind) => kind.table === table)!;

/** How many deleted projects, webhooks, and connectors still have history. Excludes the reserved project itself. */
const COUNT = statement(
  'deleted-count',
  `SELECT (${KINDS.map(
    ({ table, owner: [column, id] }) => `(SELECT count(*) FROM "${table}" WHERE "${column}" = '${id}')`,
  ).join(' + ')} - 1)::int AS count`,
);

/** Locks the next deleted project, webhook, or connector that no other process is working on. */
const LOCK_NEXT = statements(
  'deleted-lock-next',
  ['Webhook', 'Connector', 'Project'],
  (table) => `SELECT "id" FROM "${table}" WHERE "${kindOf(table).owner[0]}" = $1 AND "id" <> $2 AND "id" > $3
    ORDER BY "id" LIMIT 1 FOR UPDATE SKIP LOCKED`,
);

const DELETE = statements(
  'deleted-row',
  ['Webhook', 'Connector', 'Project'],
  (table) => `DELETE FROM "${table}" WHERE "id" = $1`,
);

/** Deletes a batch of rows. `condition` is for those that can be deleted now. */
const batchOf = (child: string, column: string, row = '"id"', condition = 'true') => `
  DELETE FROM "${child}" WHERE ${row} = ANY (ARRAY(
    SELECT ${row} FROM "${child}" WHERE "${column}" = $1 AND ${condition} LIMIT $2
  ))`;

const DELETE_DELIVERIES = statements('deleted-deliveries', ['Webhook', 'Connector', 'Project'], (table) =>
  batchOf('Delivery', kindOf(table).column),
);
const DELETE_HISTORY = {
  Event: statement('deleted-events', batchOf('Event', 'projectId')),
  Payment: statement('deleted-payments', batchOf('Payment', 'projectId', '"id"', '"leasedUntil" IS NULL')),
  Customer: statement('deleted-customers', batchOf('Customer', 'projectId')),
  CustomerRevenue: statement('deleted-customer-revenue', batchOf('CustomerRevenue', 'projectId', 'ctid')),
};

/** Payments that were sent to the chain are recorded first, which requires their customer and project. */
const FIND_OPEN_PAYMENT = statement('deleted-open-payment', 'SELECT FROM "Payment" WHERE "projectId" = $1 LIMIT 1');

/** How often to check without being notified while a resource is in use or another process is working on it. */
const RETRY_MILLISECONDS = 1_000;
/** How often to check without being notified in all other cases. */
const POLL_INTERVAL_MILLISECONDS = 60_000;

/** How many deleted projects, webhooks, and connectors still have history. */
export async function countDeletions(db: Pick<pg.Pool, 'query'>): Promise<number> {
  const { rows } = await runStatement(db, COUNT());
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
      const deletion = child === 'Delivery' ? DELETE_DELIVERIES[table] : DELETE_HISTORY[child];
      const { rowCount } = await runStatement(client, deletion(id, size.rows));
      if (rowCount) return rowCount;
      if (child === 'Payment' && (await runStatement(client, FIND_OPEN_PAYMENT(id))).rowCount) return 0;
    }
    await runStatement(client, DELETE[table](id));
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

async function lockNext(
  client: pg.PoolClient,
  { table, owner: [, owner] }: Kind,
  after: string,
): Promise<string | undefined> {
  const { rows } = await runStatement(client, LOCK_NEXT[table](owner, DELETED_PROJECT_ID, after));
  return rows[0]?.id;
}
