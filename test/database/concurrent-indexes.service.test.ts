import pg from 'pg';
import pino from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ADVISORY_LOCKS } from '../../src/database/advisory-locks.ts';
import { createMigrationFolder, type MigrationFolder } from './migration-folder.ts';

const TABLE = '20260101000000_table';
const INDEX = '20260102000000_index';
const LATER = '20260103000000_later';
const BUILD =
  '-- Few rows are in it.\nCREATE INDEX CONCURRENTLY "note_odd" ON "note" ("number") WHERE "number" % 2 = 1;\n';

let folder: MigrationFolder;
/** Closed after each test. */
let sessions: pg.Client[];

beforeEach(async () => {
  sessions = [];
  folder = await createMigrationFolder();
  await folder.write(TABLE, 'CREATE TABLE "note" ("number" INTEGER NOT NULL); INSERT INTO "note" VALUES (1), (2), (3)');
  await folder.apply();
});

afterEach(async () => {
  for (const session of sessions) await session.end().catch(() => {});
  await folder.close();
});

async function openSession(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: folder.url });
  client.on('error', () => {});
  await client.connect();
  sessions.push(client);
  return client;
}

/** A transaction that has read the table, such as a backup. A build waits until it ends. */
async function openTransaction(): Promise<pg.Client> {
  const client = await openSession();
  await client.query(
    'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM "note"; LOCK TABLE "note" IN ROW EXCLUSIVE MODE',
  );
  return client;
}

const indexes = () =>
  folder.rowsOf(
    `SELECT relname AS "name", indisvalid AS "isValid" FROM pg_index JOIN pg_class ON oid = indexrelid
     WHERE relname LIKE 'note%' ORDER BY relname`,
  );
const VALID = [{ name: 'note_odd', isValid: true }];
const INVALID = [{ name: 'note_odd', isValid: false }];

/** The session that builds the index, if it is waiting for another transaction. */
const waitingBuilds = () =>
  folder.rowsOf(
    `SELECT pid, backend_xid AS "xid" FROM pg_stat_activity WHERE datname = current_database()
       AND query ~ '^(CREATE|DROP) INDEX CONCURRENTLY' AND wait_event_type = 'Lock'`,
  );
const starters = () =>
  folder.rowsOf(
    `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tollgate-indexes'`,
  );

test('an index is built while other processes write and start, and nothing later is applied before it', async () => {
  const transaction = await openTransaction();
  await folder.write(INDEX, BUILD);
  await folder.write(LATER, 'ALTER TABLE "note" ADD COLUMN "text" TEXT');
  const write = vi.fn();
  const applying = folder.apply(pino({ level: 'warn' }, { write }));
  await expect.poll(waitingBuilds).toMatchObject([{ xid: null }]);

  expect(await folder.rowsOf('INSERT INTO "note" VALUES (5) RETURNING *')).toEqual([{ number: 5 }]);
  // A process of the last version asks for this lock when it starts, and waits for as long as it takes.
  const starting = await openSession();
  await starting.query('SELECT pg_advisory_lock($1)', [ADVISORY_LOCKS.migrations]);
  await starting.end();
  const { processID } = transaction as unknown as { processID: number };
  await expect.poll(() => write.mock.calls.join()).toContain(`"process":${processID},`);
  expect(await folder.rowsOf('SELECT migration_name FROM _prisma_migrations')).toHaveLength(1);

  await transaction.query('COMMIT');
  expect(await applying).toEqual({ applied: [INDEX, LATER] });
  expect(await indexes()).toEqual(VALID);
  expect(await folder.apply()).toEqual({ applied: [] });
});

test('of five processes that start at the same time, one builds the index', async () => {
  const transaction = await openTransaction();
  await folder.write(INDEX, BUILD);
  await folder.write(LATER, 'ALTER TABLE "note" ADD COLUMN "text" TEXT');
  const processes = Array.from({ length: 5 }, () => folder.applyElsewhere());
  await expect.poll(starters).toHaveLength(processes.length);
  await expect.poll(waitingBuilds).toHaveLength(1);
  await transaction.query('COMMIT');
  const applied = await Promise.all(processes.map((child) => child.nextMessage<string[]>()));
  expect(applied.flat().sort()).toEqual([INDEX, LATER]);
  expect(await indexes()).toEqual(VALID);
});

test('if the process is killed, the server finishes the index, and the next start waits for it', async () => {
  const transaction = await openTransaction();
  await folder.write(INDEX, BUILD);
  const killed = folder.applyElsewhere();
  await expect.poll(waitingBuilds).toHaveLength(1);
  const [build] = await waitingBuilds();
  await killed.end('SIGKILL');
  const applying = folder.apply();
  await expect.poll(starters).toHaveLength(2);
  expect(await waitingBuilds()).toEqual([build]);
  const oid = `SELECT '"note_odd"'::regclass::oid`;
  const before = await folder.rowsOf(oid);
  await transaction.query('COMMIT');
  expect(await applying).toEqual({ applied: [INDEX] });
  expect(await indexes()).toEqual(VALID);
  expect(await folder.rowsOf(oid)).toEqual(before);
});

test('if the server ends the build, as in a failover, the next start drops the incomplete index and builds it again', async () => {
  const transaction = await openTransaction();
  await folder.write(INDEX, BUILD);
  const failing = folder.apply().catch((error: Error) => error.message);
  await expect.poll(waitingBuilds).toHaveLength(1);
  await folder.rowsOf(`SELECT pg_terminate_backend(${(await waitingBuilds())[0]!.pid})`);
  expect(await failing).toContain(`The migration ${INDEX} failed, and can be tried again`);
  expect(await indexes()).toEqual(INVALID);
  await transaction.query('COMMIT');
  expect(await folder.apply()).toEqual({ applied: [INDEX] });
  expect(await indexes()).toEqual(VALID);
});

test('a build that was ended by a deadlock is tried again', async () => {
  const first = await openTransaction();
  const second = await openTransaction();
  await folder.write(INDEX, BUILD);
  const write = vi.fn();
  const applying = folder.apply(pino({ level: 'warn' }, { write }));
  await expect.poll(waitingBuilds).toHaveLength(1);
  // It waits for the build, which then waits for it. Only the build looks for deadlocks.
  const locking = second.query(`SET LOCAL deadlock_timeout = '1h'; LOCK TABLE "note" IN SHARE UPDATE EXCLUSIVE MODE`);
  const waiting = `SELECT FROM pg_locks WHERE NOT granted AND relation = '"note"'::regclass`;
  await expect.poll(() => folder.rowsOf(waiting)).toHaveLength(1);
  await first.query('COMMIT');
  await locking;
  await second.query('COMMIT');
  expect(await applying).toEqual({ applied: [INDEX] });
  expect(write.mock.calls.join()).toContain('retrying');
  expect(await indexes()).toEqual(VALID);
});

test('a unique index that rows violate fails, and leaves nothing behind that would reject rows', async () => {
  await folder.rowsOf('INSERT INTO "note" VALUES (1)');
  await folder.write(INDEX, 'CREATE UNIQUE INDEX CONCURRENTLY "note_number" ON "note"("number");');
  await expect(folder.apply()).rejects.toThrow('could not create unique index "note_number"');
  expect(await indexes()).toEqual([]);
  await folder.rowsOf('INSERT INTO "note" VALUES (1)');
  await folder.rowsOf('DELETE FROM "note" WHERE "number" = 1');
  expect(await folder.apply()).toEqual({ applied: [INDEX] });
});

test('an index is dropped while others use its table, also if it is already gone', async () => {
  await folder.rowsOf('CREATE INDEX "note_number" ON "note" ("number")');
  await folder.write(INDEX, 'DROP INDEX CONCURRENTLY "note_number";');
  await folder.write(LATER, 'DROP INDEX CONCURRENTLY "note_absent";');
  expect(await folder.apply()).toEqual({ applied: [INDEX, LATER] });
  expect(await indexes()).toEqual([]);
});

test('the index of a partitioned table is built partition by partition, and continues after an interruption', async () => {
  await folder.rowsOf(
    `CREATE TABLE "part" ("number" INTEGER NOT NULL) PARTITION BY RANGE ("number");
     CREATE TABLE "part_default" PARTITION OF "part" DEFAULT;
     CREATE TABLE "part_1" PARTITION OF "part" FOR VALUES FROM (0) TO (10);
     CREATE TABLE "part_2" PARTITION OF "part" FOR VALUES FROM (10) TO (20);
     CREATE TABLE "part_3" PARTITION OF "part" FOR VALUES FROM (20) TO (30);
     INSERT INTO "part" SELECT generate_series(0, 40)`,
  );
  const partIndexes = () =>
    folder.rowsOf(
      `SELECT indrelid::regclass::text AS "table", indisvalid AS "isValid", relispartition AS "isAttached"
       FROM pg_index JOIN pg_class ON oid = indexrelid WHERE relname LIKE 'part%' ORDER BY 1`,
    );
  const transaction = await openSession();
  await transaction.query('BEGIN; LOCK TABLE "part_2" IN ROW EXCLUSIVE MODE');
  await folder.write(INDEX, 'CREATE INDEX CONCURRENTLY "part_number" ON "part"("number");');
  const failing = folder.apply().catch((error: Error) => error.message);
  await expect.poll(waitingBuilds).toHaveLength(1);
  await folder.rowsOf(`SELECT pg_terminate_backend(${(await waitingBuilds())[0]!.pid})`);
  await failing;
  expect(await partIndexes()).toEqual([
    { table: 'part', isValid: false, isAttached: false },
    { table: 'part_1', isValid: true, isAttached: true },
    { table: 'part_2', isValid: false, isAttached: false },
  ]);

  const applying = folder.apply();
  await expect.poll(waitingBuilds).toHaveLength(1);
  // Partitions come and go in the meantime.
  await folder.rowsOf('CREATE TABLE "part_4" PARTITION OF "part" FOR VALUES FROM (100) TO (110)');
  await folder.rowsOf('DROP TABLE "part_3"');
  await folder.rowsOf('INSERT INTO "part" VALUES (11), (50)');
  await transaction.query('COMMIT');
  expect(await applying).toEqual({ applied: [INDEX] });
  const complete = await partIndexes();
  expect(complete.map(({ table }) => table)).toEqual(['part', 'part_1', 'part_2', 'part_4', 'part_default']);
  expect(complete.every(({ table, isValid, isAttached }) => isValid && isAttached === (table !== 'part'))).toBe(true);
});

test.each([
  ['other statements', 'CREATE TABLE "other" (); CREATE INDEX CONCURRENTLY "note_odd" ON "note" ("number");'],
  ['a condition', 'CREATE INDEX CONCURRENTLY IF NOT EXISTS "note_odd" ON "note" ("number");'],
])('a migration with %s next to a concurrent change of an index is rejected', async (_, sql) => {
  await folder.write(INDEX, sql);
  await expect(folder.apply()).rejects.toThrow('CONCURRENTLY cannot run inside a transaction block');
  expect(await indexes()).toEqual([]);
});
