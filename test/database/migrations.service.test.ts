import { createHash } from 'node:crypto';
import pg from 'pg';
import pino from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ADVISORY_LOCKS } from '../../src/database/advisory-locks.ts';
import { createMigrationFolder, type MigrationFolder } from './migration-folder.ts';

const FIRST = '20260101000000_first';
const SECOND = '20260102000000_second';
const TWO_STATEMENTS_AND_A_BODY = `
  CREATE TABLE note (number INTEGER NOT NULL);
  CREATE FUNCTION bump() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    NEW.number := NEW.number + 1;
    RETURN NEW;
  END;
  $$;
  CREATE TRIGGER bump BEFORE INSERT ON note FOR EACH ROW EXECUTE FUNCTION bump();
  INSERT INTO note VALUES (6);
`;

let folder: MigrationFolder;

beforeEach(async () => {
  folder = await createMigrationFolder();
});

afterEach(() => folder.close());

const apply = () => folder.apply();
const writeMigration = (name: string, sql: string) => folder.write(name, sql);
const rowsOf = (sql: string) => folder.rowsOf(sql);

test('migrations, including those with function bodies, are each applied once, in the order of their names', async () => {
  await writeMigration(SECOND, 'INSERT INTO note VALUES (10)');
  await writeMigration(FIRST, TWO_STATEMENTS_AND_A_BODY);
  expect(await apply()).toEqual({ applied: [FIRST, SECOND] });
  expect(await apply()).toEqual({ applied: [] });
  expect(await rowsOf('SELECT number FROM note ORDER BY number')).toEqual([{ number: 7 }, { number: 11 }]);
});

test('applied migrations are recorded the way `prisma migrate` records them', async () => {
  const sql = 'CREATE TABLE note (number INTEGER);\n';
  await writeMigration(FIRST, sql);
  await apply();
  const [row] = await rowsOf('SELECT * FROM _prisma_migrations');
  expect(row).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    checksum: createHash('sha256').update(sql).digest('hex'),
    finished_at: expect.any(Date),
    migration_name: FIRST,
    logs: null,
    rolled_back_at: null,
    started_at: expect.any(Date),
    applied_steps_count: 1,
  });
});

test('five processes that start at the same time apply each migration once', async () => {
  await writeMigration(FIRST, TWO_STATEMENTS_AND_A_BODY);
  await writeMigration(SECOND, 'INSERT INTO note VALUES (10)');
  // None of them starts before all of them are ready.
  const starter = await folder.pool.connect();
  await starter.query('SELECT pg_advisory_lock($1)', [ADVISORY_LOCKS.migrations]);
  const processes = Array.from({ length: 5 }, () => folder.applyElsewhere());
  const waiting = `SELECT count(*)::int AS count FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
  await expect.poll(() => rowsOf(waiting)).toEqual([{ count: processes.length }]);
  starter.release(true);
  const applied = await Promise.all(processes.map((child) => child.nextMessage<string[]>()));
  expect(applied.flat()).toEqual([FIRST, SECOND]);
  expect(await rowsOf('SELECT count(*)::int AS count FROM _prisma_migrations')).toEqual([{ count: 2 }]);
});

test('only the failed migration is rolled back, and it can be fixed and then applied', async () => {
  await writeMigration(FIRST, 'CREATE TABLE note (number INTEGER)');
  await writeMigration(SECOND, 'INSERT INTO note VALUES (1); SELECT 1 / 0;');
  await expect(apply()).rejects.toThrow(`The migration ${SECOND} failed and was rolled back: division by zero`);
  expect(await rowsOf('SELECT * FROM note')).toEqual([]);

  await writeMigration(SECOND, 'INSERT INTO note VALUES (1)');
  expect(await apply()).toEqual({ applied: [SECOND] });
});

test('a migration that was edited after it was applied is rejected, and nothing later is applied', async () => {
  await writeMigration(FIRST, 'CREATE TABLE note (number INTEGER)');
  await apply();
  await writeMigration(FIRST, 'CREATE TABLE note (number BIGINT)');
  await writeMigration(SECOND, 'CREATE TABLE other (number INTEGER)');
  await expect(apply()).rejects.toThrow(`The migration ${FIRST} was edited after this database applied it.`);
  expect(await rowsOf("SELECT to_regclass('other') AS found")).toEqual([{ found: null }]);
});

test('line endings that a checkout rewrote do not count as an edit', async () => {
  await writeMigration(FIRST, 'CREATE TABLE note (\n  number INTEGER\n);\n');
  await apply();
  await writeMigration(FIRST, 'CREATE TABLE note (\r\n  number INTEGER\r\n);\r\n');
  expect(await apply()).toEqual({ applied: [] });
});

test('a migration that another tool recorded as failed is rejected until it is marked as rolled back', async () => {
  await writeMigration(FIRST, 'CREATE TABLE note (number INTEGER)');
  await apply();
  await folder.pool.query('DROP TABLE note; UPDATE _prisma_migrations SET finished_at = NULL');
  const refusal = await apply().catch((error: Error) => error.message);
  expect(refusal).toContain(`The migration ${FIRST} failed earlier.`);
  await folder.pool.query(/UPDATE .*?'(?=,)/.exec(String(refusal))![0]);
  expect(await apply()).toEqual({ applied: [FIRST] });
});

test('a database that is newer than this version is left unchanged, with a warning', async () => {
  await writeMigration(FIRST, 'CREATE TABLE note (number INTEGER)');
  await writeMigration(SECOND, 'CREATE TABLE other (number INTEGER)');
  await apply();
  await folder.remove(SECOND);
  const write = vi.fn();
  expect(await folder.apply(pino({ level: 'warn' }, { write }))).toEqual({ applied: [] });
  expect(write.mock.calls.join()).toContain(SECOND);
});

test('a migration yields to transactions that hold locks, and is applied after they end', async () => {
  await writeMigration(FIRST, 'CREATE TABLE note (number INTEGER)');
  await apply();
  await writeMigration(SECOND, 'ALTER TABLE note ADD COLUMN text TEXT');
  const write = vi.fn();
  const backup = await folder.pool.connect();
  try {
    await backup.query('BEGIN; SELECT * FROM note');
    const applying = folder.apply(pino({ level: 'warn' }, { write }));
    await expect.poll(() => write.mock.calls.join()).toContain(SECOND);
    // Without the limit, this would wait behind the migration until the backup ends.
    expect(await rowsOf('SELECT number FROM note')).toEqual([]);
    await backup.query('COMMIT');
    expect(await applying).toEqual({ applied: [SECOND] });
  } finally {
    backup.release();
  }
});

/** Overlapping reads of a table, as the service makes them for callers. They never end on their own. */
async function readAlways(text: string, count: number) {
  const readers = new pg.Pool({ connectionString: folder.url, application_name: 'tollgate' });
  readers.on('error', () => {});
  const codes = new Set<unknown>();
  let isOver = false;
  const read = async () => {
    while (!isOver) await readers.query(text).catch(({ code }) => codes.add(code));
  };
  const running = () =>
    folder.rowsOf(
      `SELECT pid, pg_cancel_backend(pid) FROM pg_stat_activity WHERE state = 'active' AND query = '${text}'`,
    );
  const reading = Array.from({ length: count }, read);
  return {
    codes,
    async stop(): Promise<void> {
      isOver = true;
      await expect.poll(running).toEqual([]);
      await Promise.all(reading);
      await readers.end();
    },
  };
}

test('a migration is applied even if long reads overlap all the time', async () => {
  await writeMigration(FIRST, 'CREATE TABLE note (number INTEGER); INSERT INTO note VALUES (1)');
  await apply();
  await writeMigration(SECOND, 'ALTER TABLE note ADD COLUMN text TEXT');
  const reads = await readAlways('SELECT pg_sleep(600) FROM note', 3);
  try {
    expect(await apply()).toEqual({ applied: [SECOND] });
    // query_canceled, which callers get as UNAVAILABLE, or their connection was closed because it is older.
    expect([...reads.codes]).toContain('57014');
  } finally {
    await reads.stop();
  }
});

test('a prepared statement works again after a migration changed its result, because its connection is replaced', async () => {
  await writeMigration(FIRST, 'CREATE TABLE note (number INTEGER)');
  await apply();
  const older = new pg.Pool({ connectionString: folder.url, application_name: 'tollgate', max: 2 });
  older.on('error', () => {});
  try {
    const read = { name: 'read', text: 'SELECT * FROM note' };
    const [idle, busy] = [await older.connect(), await older.connect()];
    await idle.query(read);
    await busy.query(read);
    await busy.query('BEGIN');
    idle.release();
    await writeMigration(SECOND, 'ALTER TABLE note ADD COLUMN text TEXT');
    const applying = apply();
    await expect.poll(() => older.idleCount).toBe(0);
    // A transaction isn't interrupted.
    expect((await busy.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await busy.query('COMMIT');
    busy.release();
    await applying;
    await expect.poll(() => older.totalCount).toBe(0);
    const { fields } = await older.query(read);
    expect(fields.map(({ name }) => name)).toEqual(['number', 'text']);
  } finally {
    await older.end();
  }
});

test('a migration that was ended by a deadlock is applied again', async () => {
  await writeMigration(FIRST, 'CREATE SEQUENCE tries');
  await apply();
  // Sequences aren't rolled back.
  await writeMigration(
    SECOND,
    "DO $$ BEGIN IF nextval('tries') < 3 THEN RAISE SQLSTATE '40P01'; END IF; END $$; CREATE TABLE note (number INTEGER)",
  );
  expect(await apply()).toEqual({ applied: [SECOND] });
  expect(await rowsOf('SELECT last_value::int FROM tries')).toEqual([{ last_value: 3 }]);
});

test("a run's lock is released when the run ends", async () => {
  await writeMigration(FIRST, 'CREATE TABLE note (number INTEGER)');
  await apply();
  const locks = () =>
    rowsOf(
      "SELECT * FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
    );
  // The server notices a moment later that the connection has ended.
  await expect.poll(locks).toEqual([]);
});
