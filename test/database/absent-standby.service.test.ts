import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.ts';
import { cancelingBlockers, isLockConflict } from '../../src/database/lock-conflicts.ts';
import { applyMigrations, MIGRATIONS } from '../../src/database/migrations.ts';
import { createReadiness } from '../../src/database/readiness.ts';
import { unavailability } from '../../src/database/unavailable.ts';
import { runOnServer } from '../support/database.ts';

const log = pino({ level: 'silent' });
let dataDir: string;
let server: EmbeddedPostgres;
let pool: pg.Pool;

const countWaiting = async () =>
  (await pool.query(`SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)).rowCount;

const chooseStandby = async (name: string) => {
  await runOnServer(server.url, `ALTER SYSTEM SET synchronous_standby_names = '${name}'`);
  await runOnServer(server.url, 'SELECT pg_reload_conf()');
  await expect
    .poll(async () => (await pool.query('SHOW synchronous_standby_names')).rows[0].synchronous_standby_names)
    .toBe(name);
};

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'tollgate-absent-standby-'));
  server = await startEmbeddedPostgres({ dataDir, log, settings: { fsync: 'off' } });
  await applyMigrations(server.url, MIGRATIONS, log);
  pool = new pg.Pool({ connectionString: server.url, max: 3 });
  // The connection of a check that was given up may last until the server stops.
  pool.on('error', () => {});
});
afterAll(async () => {
  await pool?.end();
  await server?.stop();
  await rm(dataDir, { recursive: true, force: true });
});

test('while the synchronous standby is unavailable, checks fail after a while, and leave no session behind', async () => {
  await chooseStandby('absent');
  const requireWritable = createReadiness(pool, { waitMilliseconds: 200 });
  for (let count = 0; count < 3; count++) {
    const error = await createReadiness(pool, { waitMilliseconds: 200 })().catch((reason) => reason);
    expect(String(error)).toContain("hasn't confirmed a write within 0.2 seconds");
    // The log limits how many lines there are about it.
    expect(unavailability(error)).toBeDefined();
  }
  await expect.poll(countWaiting).toBe(0);
  await expect(Promise.all([requireWritable(), requireWritable()])).rejects.toThrow('confirmed a write');
  await chooseStandby('');
  await createReadiness(pool)();
});

test('a write that no standby has stored isn’t acknowledged because a change to its table waits for it', async () => {
  await pool.query('CREATE TABLE "Waiting" ("id" int)');
  await chooseStandby('absent');
  const writer = new pg.Client({ connectionString: server.url, application_name: 'tollgate' });
  await writer.connect();
  let isAcknowledged = false;
  const write = writer.query('INSERT INTO "Waiting" VALUES (1)').then(() => {
    isAcknowledged = true;
  });
  const [changer, watcher] = await Promise.all([pool.connect(), pool.connect()]);
  try {
    await expect.poll(countWaiting).toBe(1);
    await changer.query(`BEGIN; SET LOCAL lock_timeout = '1s'`);
    const change = cancelingBlockers(changer, watcher, () => changer.query('LOCK TABLE "Waiting"'));
    expect(isLockConflict(await change.catch((error) => error))).toBe(true);
    expect(isAcknowledged).toBe(false);
  } finally {
    await changer.query('ROLLBACK');
    changer.release();
    watcher.release();
    await chooseStandby('');
    await write;
    await writer.end();
  }
});
