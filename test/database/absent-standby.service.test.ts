import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.ts';
import { applyMigrations, MIGRATIONS } from '../../src/database/migrations.ts';
import { createReadiness } from '../../src/database/readiness.ts';
import { unavailability } from '../../src/database/unavailable.ts';
import { runOnServer } from '../support/database.ts';

const log = pino({ level: 'silent' });
let dataDir: string;
let server: EmbeddedPostgres;
let pool: pg.Pool;

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
  const waiting = async () => (await pool.query(`SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)).rowCount;
  await expect.poll(waiting).toBe(0);
  await expect(Promise.all([requireWritable(), requireWritable()])).rejects.toThrow('confirmed a write');
  await chooseStandby('');
  await createReadiness(pool)();
});
