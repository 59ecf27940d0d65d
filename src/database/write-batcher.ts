import pg from 'pg';
import type { Logger } from 'pino';
import { type BatchClient, runBatch } from './batch-client.ts';
import { createBatchTurns, weightIn } from './batch-turns.ts';
import { applySettings, openPool, QUEUE_SETTINGS } from './client.ts';

/** A write that callers wait for, and that can handle many items together. */
export type BatchStep<Item, Result> = {
  /**
   * Writes the items in one transaction.
   *
   * @returns a result for each item, in the same order. If it throws, none of the items are written.
   */
  run(batch: BatchClient, items: readonly Item[]): Promise<readonly Result[]>;
  /** Whether `run` is a single statement, which needs no transaction around it. */
  isStatement?: boolean;
  /** Items with the same key never share a batch. */
  keyOf?: (item: Item) => string;
  bytesOf?: (item: Item) => number;
  /** How many rows the item writes, approximately. Default: 1. */
  weightOf?: (item: Item) => number;
  /** Whose item it is. Accounts with items that write many rows take turns. */
  accountOf?: (item: Item) => string;
};

export type WriteBatcher = ReturnType<typeof openWriteBatcher>;

// Steps have different types, so the queue holds untyped items. Each step's own function casts them back.
type Entry = { item: unknown; waitsSince: number; outcome: PromiseWithResolvers<unknown> };
type Queue = BatchStep<unknown, unknown> & { waiting: Entry[] };

const MAX_ITEMS = 64;
/** Items larger than this are written alone, because they would hold up the others. */
const LARGE_BYTES = 128 * 1024;
const MAX_BYTES = 1024 * 1024;
/** How many rows a batch may write, unless a single item writes more. */
const MAX_WEIGHT = 512;
const RESPONSE_TIMEOUT_MILLISECONDS = 20_000;

/**
 * Writes the items of concurrent callers together. While one batch is being written, the next one fills up, so batches
 * grow with the load, and a lone item never waits for others to arrive. All steps share one connection, because fewer,
 * larger batches cost the least. The connection is in pipeline mode, because a lone item spends most of its time on
 * round trips.
 *
 * If a batch fails, each of its items is retried alone on a connection from `pool`. As a result, an item fails only for
 * its own reasons, and an item that waits for a lock holds up the others only briefly. If a connection is lost, an item
 * can be tried twice, so steps must tolerate that.
 *
 * @param options `url` points to the server itself, because the connection's settings must persist.
 */
export function openWriteBatcher({ url, pool, log }: { url: string; pool: pg.Pool; log: Logger }) {
  const own = openPool({
    url,
    poolSize: 1,
    log,
    applicationName: 'tollgate-ledger',
    query_timeout: RESPONSE_TIMEOUT_MILLISECONDS,
    pipeline: true,
    onConnect: applySettings(QUEUE_SETTINGS),
  });
  const queues: Queue[] = [];
  const alone = new Set<Promise<void>>();
  const turns = createBatchTurns();
  let working: Promise<void> | undefined;

  async function work(): Promise<void> {
    // Requests that arrived at the same time share the first batch.
    await new Promise(setImmediate);
    for (let next = turns.next<Entry, Queue>(queues); next; next = turns.next<Entry, Queue>(queues))
      await writeTogether(next.line, next.entries);
    // Runs in the same tick as the last check, so no item is left behind.
    working = undefined;
  }

  /** @param waiting the items to choose from, in the order of their turns. */
  async function writeTogether(queue: Queue, waiting: readonly Entry[]): Promise<void> {
    const entries = takeBatch(queue, waiting);
    turns.taken(queue, entries);
    try {
      await write(own, queue, entries);
    } catch (error) {
      log.warn({ err: error, items: entries.length }, 'a batch failed; writing its items one by one');
      for (const entry of entries) writeAlone(queue, entry);
    }
  }

  function writeAlone(queue: Queue, entry: Entry): void {
    const writing = write(pool, queue, [entry])
      .catch(entry.outcome.reject)
      .finally(() => alone.delete(writing));
    alone.add(writing);
  }

  return {
    /** Adds a step. Call the returned function to write an item. */
    step<Item, Result>(step: BatchStep<Item, Result>): (item: Item) => Promise<Result> {
      const queue: Queue = { ...(step as BatchStep<unknown, unknown>), waiting: [] };
      queues.push(queue);
      return (item) => {
        const entry = { item, waitsSince: performance.now(), outcome: Promise.withResolvers<unknown>() };
        if ((step.bytesOf?.(item) ?? 0) > LARGE_BYTES) writeAlone(queue, entry);
        else {
          queue.waiting.push(entry);
          working ??= work();
        }
        return entry.outcome.promise as Promise<Result>;
      };
    },

    /** Finishes the writes in progress. */
    async close(): Promise<void> {
      await working;
      await Promise.all(alone);
      await own.end();
    },
  };
}

/** Takes as many items as fit into a batch. The rest keep their order. */
function takeBatch(queue: Queue, waiting: readonly Entry[]): Entry[] {
  const { keyOf, bytesOf } = queue;
  const taken = new Set<Entry>();
  const keys = new Set<string>();
  let bytes = 0;
  let weight = 0;
  for (const entry of waiting) {
    const key = keyOf?.(entry.item);
    const size = bytesOf?.(entry.item) ?? 0;
    const rows = weightIn(queue, entry);
    const isFull =
      taken.size >= MAX_ITEMS || bytes + size > MAX_BYTES || (taken.size > 0 && weight + rows > MAX_WEIGHT);
    if (isFull || (key !== undefined && keys.has(key))) continue;
    taken.add(entry);
    bytes += size;
    weight += rows;
    if (key !== undefined) keys.add(key);
  }
  queue.waiting = queue.waiting.filter((entry) => !taken.has(entry));
  return [...taken];
}

async function write(pool: pg.Pool, step: Queue, entries: readonly Entry[]): Promise<void> {
  const items = entries.map(({ item }) => item);
  const client = await pool.connect();
  let isUsable = true;
  try {
    const { isStatement = false } = step;
    const results = await runBatch(client, { isStatement }, (batch) => step.run(batch, items));
    for (const [index, { outcome }] of entries.entries()) outcome.resolve(results[index]);
  } catch (error) {
    // After any other error, the connection may still be in the transaction.
    isUsable = error instanceof pg.DatabaseError && (await rollBack(client));
    throw error;
  } finally {
    client.release(!isUsable);
  }
}

function rollBack(client: pg.ClientBase): Promise<boolean> {
  return client.query('ROLLBACK').then(
    () => true,
    () => false,
  );
}
