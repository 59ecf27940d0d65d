import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { ADVISORY_LOCKS } from './advisory-locks.ts';
import { GIVE_WAY_LOCK_TIMEOUT } from './lock-conflicts.ts';
import { runStatement, statement } from './statement.ts';

/** What a migration does if all it does is to build or drop an index without blocking writes. */
export type IndexChange =
  | { action: 'build'; name: string; table: string; isUnique: boolean; definition: string }
  | { action: 'drop'; name: string };

/** Runs a change whose lock others wait behind. */
export type Shortly = (change: () => Promise<void>) => Promise<void>;

const BUILD =
  /^CREATE (?<unique>UNIQUE )?INDEX CONCURRENTLY "(?<name>\w+)" ON "(?<table>\w+)"\s*(?<definition>[^;]+);?$/;
const DROP = /^DROP INDEX CONCURRENTLY "(?<name>\w+)";?$/;
const MAX_NAME_LENGTH = 63;
const POLL_MILLISECONDS = 500;

/**
 * Recognizes a migration that consists of one `CREATE INDEX CONCURRENTLY` or `DROP INDEX CONCURRENTLY`. These can't run in
 * a transaction. All other migrations do.
 */
export function indexChangeOf(sql: string): IndexChange | undefined {
  const text = sql.replaceAll(/^\s*--.*$/gm, '').trim();
  const build = BUILD.exec(text)?.groups;
  if (build) {
    const { unique, name, table, definition } = build as Record<string, string>;
    return { action: 'build', name: name!, table: table!, isUnique: unique !== undefined, definition: definition! };
  }
  const drop = DROP.exec(text)?.groups;
  return drop && { action: 'drop', name: drop.name! };
}

const TRY_LOCK = statement('index-try-lock', 'SELECT pg_try_advisory_lock($1) AS "isOurs", pg_backend_pid() AS "pid"');

/**
 * Waits until no other process is changing an index. It asks again and again, because a session that waits for a lock
 * has a snapshot, and the build would wait for that snapshot: a deadlock.
 *
 * @returns the session's number
 */
export async function lockIndexChanges(client: pg.Client): Promise<number> {
  for (;;) {
    const { rows } = await runStatement<{ isOurs: boolean; pid: number }>(client, TRY_LOCK(ADVISORY_LOCKS.indexes));
    if (rows[0]!.isOurs) return rows[0]!.pid;
    await sleep(POLL_MILLISECONDS);
  }
}

/**
 * Builds or drops an index. Reads and writes of its table continue. It waits for as long as other transactions use the
 * table, without a time limit: nothing but other changes to the table waits behind it. If it was interrupted earlier,
 * it continues.
 *
 * @param client a session that holds the lock for index changes, without a lock timeout
 * @param shortly runs the short changes to a partitioned table
 * @throws the database's error. No incomplete index is left, unless the connection was lost.
 */
export async function changeIndex(client: pg.Client, change: IndexChange, shortly: Shortly): Promise<void> {
  if (change.action === 'drop') return drop(client, change.name);
  if (await isPartitioned(client, change.table)) await buildOnPartitions(client, change, shortly);
  else await build(client, change);
}

type Build = Extract<IndexChange, { action: 'build' }>;

const READ_VALIDITY = statement(
  'index-read-validity',
  'SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)',
);

async function build(client: pg.Client, { name, table, isUnique, definition }: Build): Promise<void> {
  const { rows } = await runStatement(client, READ_VALIDITY(`"${name}"`));
  // The server finishes a build even if the process that started it was killed.
  if (rows[0]?.indisvalid) return;
  // A restart or a failover leaves an incomplete index behind. It isn't used, but is updated.
  if (rows[0]) await drop(client, name);
  try {
    await client.query(`CREATE ${isUnique ? 'UNIQUE ' : ''}INDEX CONCURRENTLY "${name}" ON "${table}" ${definition}`);
  } catch (error) {
    // If it is unique, it would still reject rows.
    await drop(client, name).catch(() => {});
    throw error;
  }
}

const drop = async (client: pg.Client, name: string): Promise<void> =>
  void (await client.query(`DROP INDEX CONCURRENTLY IF EXISTS "${name}"`));

const READ_KIND = statement('index-read-table-kind', 'SELECT relkind FROM pg_class WHERE oid = to_regclass($1)');

async function isPartitioned(client: pg.Client, table: string): Promise<boolean> {
  const { rows } = await runStatement(client, READ_KIND(`"${table}"`));
  return rows[0]?.relkind === 'p';
}

/**
 * The next partition without the index. The default partition is never dropped, so it comes last: after that, the index
 * is complete even if other partitions were dropped or created in the meantime.
 */
const READ_NEXT_PARTITION = statement(
  'index-read-next-partition',
  `
  SELECT c.relname AS "name" FROM pg_inherits h JOIN pg_class c ON c.oid = h.inhrelid
  WHERE h.inhparent = to_regclass($1) AND NOT EXISTS (
    SELECT FROM pg_index x JOIN pg_inherits i ON i.inhrelid = x.indexrelid
    WHERE x.indrelid = c.oid AND i.inhparent = to_regclass($2)
  )
  ORDER BY pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT', c.relname LIMIT 1`,
);

/**
 * PostgreSQL can't build the index of a partitioned table concurrently, but can build those of its partitions. Partitions
 * that are created from now on get theirs right away.
 */
async function buildOnPartitions(client: pg.Client, change: Build, shortly: Shortly): Promise<void> {
  const { name, table, isUnique, definition } = change;
  if (isUnique)
    throw new Error(`The unique index ${name} can't be built concurrently, because ${table} is partitioned.`);
  await shortly(() => giveWay(client, `CREATE INDEX IF NOT EXISTS "${name}" ON ONLY "${table}" ${definition}`));
  for (;;) {
    const { rows } = await runStatement<{ name: string }>(client, READ_NEXT_PARTITION(`"${table}"`, `"${name}"`));
    if (!rows[0]) return;
    const partition = rows[0].name;
    const part = partIndexName(change, partition);
    try {
      await build(client, { ...change, name: part, table: partition });
      await shortly(() => giveWay(client, `ALTER INDEX "${name}" ATTACH PARTITION "${part}"`));
    } catch (error) {
      // Expired partitions are dropped.
      if (await exists(client, partition)) throw error;
    }
  }
}

/** For example, `Delivery_20261123_due` for `Delivery_due`. */
function partIndexName({ name, table }: Build, partition: string): string {
  const part = `${partition}_${name.startsWith(`${table}_`) ? name.slice(table.length + 1) : name}`;
  if (part.length > MAX_NAME_LENGTH) throw new Error(`The name of the index ${name} is too long for its partitions.`);
  return part;
}

const EXISTS = statement('index-table-exists', 'SELECT to_regclass($1) IS NOT NULL AS "exists"');

async function exists(client: pg.Client, table: string): Promise<boolean> {
  const { rows } = await runStatement<{ exists: boolean }>(client, EXISTS(`"${table}"`));
  return rows[0]!.exists;
}

/** Runs a statement whose lock others wait behind, so it gives up if it doesn't get the lock almost immediately. */
async function giveWay(client: pg.Client, text: string): Promise<void> {
  await client.query(`SET LOCAL lock_timeout = '${GIVE_WAY_LOCK_TIMEOUT}'; ${text}`);
}
