import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import { sharedNow } from '../clock.ts';
import { firstIdAt, millisecondsOfId } from '../ids.ts';
import { createLoop, type Loop } from '../loop.ts';
import { ADVISORY_LOCKS } from './advisory-locks.ts';
import { noteDroppedHours, notingHours } from './changed-hours.ts';
import { cancelingBlockers, GIVE_WAY_LOCK_TIMEOUT, isLockConflict } from './lock-conflicts.ts';
import { runStatement, statement, statementFor, statements } from './statement.ts';
import { databaseTime } from './time.ts';

export type PartitionKeeperOptions = {
  pool: pg.Pool;
  log: Logger;
  /** A partition is dropped once everything in it is older than this. */
  retentionDays: number;
  /** Called after every successful round. */
  onKept?: () => void;
};

/** The partitions that a round created and dropped. */
export type PartitionRound = { created: string[]; dropped: string[] };

/**
 * The tables that are partitioned by the time at the start of their IDs, in the order of deletion: children before
 * their parents.
 */
const TABLES = [
  { name: 'Attempt', key: 'deliveryId', type: 'Delivery', fillPercent: 100 },
  // Leaves room on each page for a claim's updates; see the migration "heap_only_claims".
  { name: 'Delivery', key: 'id', type: 'Delivery', fillPercent: 50 },
  { name: 'Event', key: 'id', type: 'Event', fillPercent: 100 },
] as const;
type Table = (typeof TABLES)[number];

/** Rows in the default partition that are too old. */
const DELETE_FROM_DEFAULT = statements('partitions-delete-from-default', ['Attempt', 'Delivery', 'Event'], (name) => {
  const { key } = TABLES.find((table) => table.name === name)!;
  const deletion = `DELETE FROM "${name}_default" WHERE "${key}" < $1`;
  return name === 'Delivery' ? notingHours(deletion) : deletion;
});

const COUNT_UNFINISHED = statementFor(
  'partitions-count-unfinished',
  'Delivery_default',
  (partition) => `SELECT count(*)::int AS "unfinished" FROM "${partition}" WHERE "outcome" IS NULL`,
);

const DAY_MILLISECONDS = 24 * 60 * 60_000;
const WIDTH_MILLISECONDS = 7 * DAY_MILLISECONDS;
/** How far in advance partitions are created. Rows that don't fit any partition go to the default one. */
const AHEAD_MILLISECONDS = 3 * WIDTH_MILLISECONDS;
/** A delivery may be created up to a day later than its event. That day is searched one hour at a time. */
const STRAY_STEPS = 24;
const STRAY_STEP_MILLISECONDS = DAY_MILLISECONDS / STRAY_STEPS;
const ROUND_MILLISECONDS = 60 * 60_000;
const STATEMENT_TIMEOUT_MILLISECONDS = 60_000;
const MAX_TRIES = 20;
/**
 * If so many tries got no lock, statements in the way are canceled. Otherwise, an account whose long reads overlap could
 * keep the tables from ever being cleaned up.
 */
const PATIENT_TRIES = 10;
const PAUSE_MILLISECONDS = 500;

/** Creates upcoming partitions and drops expired ones, in one process at a time. */
export function createPartitionKeeper(options: PartitionKeeperOptions): Loop {
  return createLoop({
    task: 'maintain partitions',
    intervalMilliseconds: ROUND_MILLISECONDS,
    log: options.log,
    async round(signal) {
      await keepPartitions(options, signal);
      options.onKept?.();
    },
  });
}

/**
 * Runs one round. Each step is a transaction that gives up and is retried if it doesn't get its locks almost
 * immediately, so nothing else has to wait for long. After several tries, reads in the way are canceled.
 *
 * @throws the database's error if all retries of a step fail
 */
export async function keepPartitions(options: PartitionKeeperOptions, signal?: AbortSignal): Promise<PartitionRound> {
  const { pool, log, retentionDays } = options;
  const now = (await databaseTime(pool)).getTime();
  const firstKept = firstKeptAt(now, retentionDays);
  const round: PartitionRound = { created: [], dropped: [] };
  const inShortStep = <T>(step: (client: pg.PoolClient) => Promise<T>) => inShortTransaction(pool, step, signal);

  for (const table of TABLES) {
    let ends = lastEnd(await readPartitions(pool, table));
    while (ends < now + AHEAD_MILLISECONDS) {
      const next = await inShortStep((client) => createNext(client, table, ends));
      if (next === undefined) return round;
      if (next.name) round.created.push(next.name);
      ends = next.ends;
    }
  }
  // If this fails for one table, the other tables' partitions must still be dropped.
  const failures: unknown[] = [];
  for (const table of TABLES) await expire(table).catch((error) => failures.push(error));
  if (failures.length > 0) throw failures.length === 1 ? failures[0] : new AggregateError(failures);
  return round;

  async function expire(table: Table): Promise<void> {
    const expired = (await readPartitions(pool, table)).filter(({ ends }) => ends <= firstKept);
    for (const partition of expired) {
      const { name, ends } = partition;
      if (table.name === 'Event') await deleteOrphans(inShortStep, ends);
      const unfinished = await inShortStep((client) => dropPartition(client, table, partition));
      if (unfinished === undefined) return;
      round.dropped.push(name);
      log.info({ partition: name, unfinished }, 'partition dropped');
    }
    const oldest = firstIdAt(table.type, firstKept);
    await inShortStep((client) => runStatement(client, DELETE_FROM_DEFAULT[table.name](oldest)));
  }
}

/** How many seconds from now the first table runs out of partitions. */
export async function readPartitionsAhead(db: Pick<pg.Pool, 'query'>): Promise<number> {
  const ends = await Promise.all(TABLES.map(async (table) => lastEnd(await readPartitions(db, table))));
  return (Math.min(...ends) - sharedNow()) / 1000;
}

type Partition = {
  name: string;
  /** The partition's smallest possible ID, or null for the very first partition. */
  from: string | null;
  /** Milliseconds since 1970. */
  ends: number;
};

/** Matches `FOR VALUES FROM ('evt_…') TO ('evt_…')` and `FOR VALUES FROM (MINVALUE) TO ('evt_…')`, not `DEFAULT`. */
const BOUNDS = /^FOR VALUES FROM \((?:'(\w+)'|MINVALUE)\) TO \('(\w+)'\)$/;

const READ = statement(
  'partitions-read',
  `SELECT c.relname AS "name", pg_get_expr(c.relpartbound, c.oid) AS "bounds"
   FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = $1::regclass`,
);

/** All partitions except the default one, with their end times. */
async function readPartitions(db: Pick<pg.Pool, 'query'>, { name }: Table): Promise<Partition[]> {
  const { rows } = await runStatement(db, READ(`"${name}"`));
  return rows.flatMap(({ name: partition, bounds }) => {
    const [, from = null, to] = BOUNDS.exec(bounds) ?? [];
    return to === undefined ? [] : [{ name: partition, from, ends: millisecondsOfId(to) }];
  });
}

const lastEnd = (partitions: readonly Partition[]) => Math.max(...partitions.map(({ ends }) => ends));
const weekOf = (milliseconds: number) => Math.floor(milliseconds / WIDTH_MILLISECONDS) * WIDTH_MILLISECONDS;

/**
 * The creation time of the oldest items that are still kept at the given time. Everything older has been dropped by
 * then. Both times are in milliseconds since 1970.
 */
export const firstKeptAt = (milliseconds: number, retentionDays: number): number =>
  weekOf(milliseconds - retentionDays * DAY_MILLISECONDS);

/**
 * Adds the partition after the last one and moves the rows in its time range from the default partition to it. Does
 * nothing if another process has done so since `begins` was read.
 */
async function createNext(
  client: pg.PoolClient,
  table: Table,
  begins: number,
): Promise<{ name?: string; ends: number }> {
  const last = lastEnd(await readPartitions(client, table));
  if (last > begins) return { ends: last };
  const ends = weekOf(begins) + WIDTH_MILLISECONDS;
  const from = firstIdAt(table.type, begins);
  const to = firstIdAt(table.type, ends);
  const name = `${table.name}_${new Date(begins).toISOString().slice(0, 10).replaceAll('-', '')}`;
  const columns = await readColumns(client, table);
  await client.query(`
    CREATE TABLE "${name}" (LIKE "${table.name}" INCLUDING DEFAULTS INCLUDING GENERATED INCLUDING STORAGE)
      WITH (fillfactor = ${table.fillPercent});
    LOCK TABLE "${table.name}_default" IN ACCESS EXCLUSIVE MODE;
    -- The rows only move, so the triggers for deletions mustn't run.
    ALTER TABLE "${table.name}_default" DISABLE TRIGGER USER;
    WITH moved AS (
      DELETE FROM "${table.name}_default" WHERE "${table.key}" >= '${from}' AND "${table.key}" < '${to}' RETURNING ${columns}
    )
    INSERT INTO "${name}" (${columns}) SELECT ${columns} FROM moved;
    ALTER TABLE "${table.name}_default" ENABLE TRIGGER USER;
    ALTER TABLE "${table.name}" ATTACH PARTITION "${name}" FOR VALUES FROM ('${from}') TO ('${to}')`);
  return { name, ends };
}

const READ_COLUMNS = statement(
  'partitions-read-columns',
  `SELECT string_agg(quote_ident(attname), ', ') AS "columns" FROM pg_attribute
   WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`,
);

/** A table's writable columns, for a statement. */
async function readColumns(client: pg.PoolClient, { name }: Table): Promise<string> {
  const { rows } = await runStatement<{ columns: string }>(client, READ_COLUMNS(`"${name}"`));
  return rows[0]!.columns;
}

const DELETE_FILTERED_OUT = statement(
  'filtered-out-delete-old',
  'DELETE FROM "FilteredOutRollup" WHERE "hour" < to_timestamp($1)',
);

/** Returns how many unfinished deliveries the partition had. */
async function dropPartition(client: pg.PoolClient, table: Table, { name, ends }: Partition): Promise<number> {
  let unfinished = 0;
  if (table.name === 'Delivery') {
    const { rows } = await runStatement(client, COUNT_UNFINISHED(name)());
    unfinished = rows[0]!.unfinished;
    await noteDroppedHours(client, name);
  }
  if (table.name === 'Event') {
    await runStatement(client, DELETE_FILTERED_OUT(ends / 1000));
  }
  await client.query(`DROP TABLE "${name}"`);
  return unfinished;
}

const DELETE_ORPHANS = statement(
  'deliveries-delete-orphans',
  'DELETE FROM "Delivery" WHERE "id" >= $1 AND "id" < $2 AND "eventId" < $3',
);

/**
 * Deletes deliveries that would outlive their event because they were created after the end of its partition. Both are
 * created in one transaction, so these deliveries are always right after the partition boundary. Works in steps, so
 * that each one is short.
 */
async function deleteOrphans(
  inShortStep: <T>(step: (client: pg.PoolClient) => Promise<T>) => Promise<T | undefined>,
  ends: number,
): Promise<void> {
  const event = firstIdAt('Event', ends);
  for (let step = 0; step < STRAY_STEPS; step++) {
    const [first, next] = [step, step + 1].map((count) =>
      firstIdAt('Delivery', ends + count * STRAY_STEP_MILLISECONDS),
    );
    await inShortStep((client) => runStatement(client, DELETE_ORPHANS(first, next, event)));
  }
}

const BEGIN = `
  BEGIN;
  SET LOCAL lock_timeout = '${GIVE_WAY_LOCK_TIMEOUT}';
  SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT_MILLISECONDS}`;

const TRY_LOCK = statement('partitions-try-lock', 'SELECT pg_try_advisory_xact_lock($1) AS "isOurs"');

/** @returns undefined if another process is already doing this. */
async function inShortTransaction<T>(
  pool: pg.Pool,
  step: (client: pg.PoolClient) => Promise<T>,
  signal?: AbortSignal,
): Promise<T | undefined> {
  for (let tries = 1; ; tries++) {
    const client = await pool.connect();
    let watcher: pg.PoolClient | undefined;
    try {
      if (tries > PATIENT_TRIES) watcher = await pool.connect();
      await client.query(BEGIN);
      const { rows } = await runStatement(client, TRY_LOCK(ADVISORY_LOCKS.partitions));
      const change = () => (watcher ? cancelingBlockers(client, watcher, () => step(client)) : step(client));
      const result = rows[0]!.isOurs ? await change() : undefined;
      await client.query('COMMIT');
      return result;
    } catch (error) {
      await client.query('ROLLBACK').catch(() => {});
      if (!isLockConflict(error) || tries === MAX_TRIES) throw error;
    } finally {
      client.release();
      watcher?.release();
    }
    await sleep(PAUSE_MILLISECONDS * (0.5 + Math.random()), undefined, signal && { signal });
  }
}
