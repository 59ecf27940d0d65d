import pg from 'pg';
import pino from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { startThrowawayPostgres } from '../../scripts/throwaway-postgres.ts';
import { type Database, openDatabase } from '../../src/database/client.ts';
import type { EmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.ts';
import { applyMigrations, MIGRATIONS } from '../../src/database/migrations.ts';
import { MAX_LAG_MILLISECONDS, openReplica } from '../../src/database/replica.ts';
import { startTestApp } from '../support/app.ts';
import { runOnServer } from '../support/database.ts';
import { databaseUrl } from '../support/database-url.ts';
import { createProject } from '../support/resources.ts';
import { type Standby, startStandby } from '../support/standby.ts';

const DATABASE = 'tollgate';
const log = pino({ level: 'silent' });
/** Longer than it takes until a replica counts as too far behind. */
const BEHIND = { timeout: MAX_LAG_MILLISECONDS + 10_000 };

let primary: EmbeddedPostgres;
let standby: Standby;
let url: string;
let db: Database;

beforeAll(async () => {
  primary = await startThrowawayPostgres();
  await runOnServer(primary.url, `CREATE DATABASE ${DATABASE}`);
  url = databaseUrl(primary.url, DATABASE);
  await applyMigrations(url, MIGRATIONS, log);
  standby = await startStandby(primary);
  db = await openDatabase({ url, poolSize: 4, log });
});
afterAll(async () => {
  await db?.close();
  await standby?.remove();
  await primary?.stop();
});

describe('statistics', () => {
  const write = vi.fn();
  let replica: ReturnType<typeof openReplica>;

  beforeEach(async () => {
    write.mockReset();
    replica = openReplica({ db, url: standby.urlOf(DATABASE), log: pino({ level: 'info' }, { write }) });
    await expect.poll(source).toBe('standby');
  });
  afterEach(() => replica.close());

  /** Which server returns statistics. */
  async function source(): Promise<string> {
    const [row] = await replica.$queryRaw<[{ isStandby: boolean }]>`SELECT pg_is_in_recovery() AS "isStandby"`;
    return row.isStandby ? 'standby' : 'primary';
  }
  /** How many milliseconds ago the last transaction that the standby has replayed was committed. */
  async function silence(): Promise<number> {
    const [row] = await replica.$queryRaw<[{ milliseconds: number }]>`
      SELECT coalesce(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()), 0)::float8 * 1000
        AS "milliseconds"`;
    return row.milliseconds;
  }
  const logged = () => write.mock.calls.join();

  test('come from a standby, even while nothing is written for a long time', async () => {
    await runOnServer(url, 'CREATE TABLE last ()');
    await expect.poll(silence, BEHIND).toBeGreaterThan(MAX_LAG_MILLISECONDS);
    expect(await source()).toBe('standby');
    expect(logged()).not.toContain('primary');
  });

  test('come from the primary server while the standby is too far behind', async () => {
    await runOnServer(standby.urlOf(DATABASE), 'SELECT pg_wal_replay_pause()');
    await runOnServer(url, 'CREATE TABLE later ()');
    expect(await source()).toBe('standby');
    await expect.poll(source, BEHIND).toBe('primary');
    await expect.poll(logged).toContain('too far behind');
    await runOnServer(standby.urlOf(DATABASE), 'SELECT pg_wal_replay_resume()');
    await expect.poll(source).toBe('standby');
    await expect.poll(logged).toContain('from the replica again');
  });

  test('come from the primary server while the standby is down', async () => {
    await standby.stop();
    expect(await source()).toBe('primary');
    await expect.poll(logged).toContain('ECONNREFUSED');
    await standby.start();
    await expect.poll(source).toBe('standby');
  });

  test('come from the standby even if all connections to it are busy for a while', async () => {
    const slow = () => replica.$queryRaw<[{ isStandby: boolean }]>`
      SELECT pg_is_in_recovery() AS "isStandby", pg_sleep(2.5)::text`;
    const rows = await Promise.all(Array.from({ length: 6 }, slow));
    expect(rows.flat().map(({ isStandby }) => isStandby)).toEqual(Array(6).fill(true));
    expect(logged()).not.toContain('primary');
  });

  test('that the standby fails to return come from the primary server', async () => {
    await runOnServer(standby.urlOf(DATABASE), 'SELECT pg_wal_replay_pause()');
    await runOnServer(url, 'CREATE TABLE newest (); INSERT INTO newest DEFAULT VALUES');
    expect(await replica.$queryRaw`SELECT count(*)::int AS "count" FROM newest`).toEqual([{ count: 1 }]);
    await runOnServer(standby.urlOf(DATABASE), 'SELECT pg_wal_replay_resume()');
  });
});

test.each([
  ['a primary server', () => url],
  ['another database of a standby', () => standby.urlOf('postgres')],
])('statistics never come from %s', async (_title, urlOf) => {
  const write = vi.fn();
  const replica = openReplica({ db, url: urlOf(), log: pino({ level: 'warn' }, { write }) });
  await expect.poll(() => write.mock.calls.join()).toContain('not a standby of this database');
  const [row] = await replica.$queryRaw<[{ name: string }]>`SELECT current_setting('application_name') AS "name"`;
  expect(row.name).toBe('tollgate');
  await replica.close();
});

test('only statistics are read from the replica: a change shows up in every other response immediately', async () => {
  const app = await startTestApp({
    databaseUrl: url,
    env: { DATABASE_URL: url, DATABASE_READ_URL: standby.urlOf(DATABASE) },
  });
  const sql = new pg.Client({ connectionString: standby.urlOf(DATABASE) });
  await sql.connect();
  const scans = async () => {
    const { rows } = await sql.query<{ query: string }>(
      `SELECT query FROM pg_stat_activity WHERE application_name = 'tollgate-statistics'`,
    );
    return rows.map(({ query }) => query).join('\n');
  };
  const user = await app.user('alice');
  await sql.query('SELECT pg_wal_replay_pause()');
  const { base, id } = await createProject(user);
  expect((await user.rest('GET', base)).body).toMatchObject({ id });
  expect((await user.rest<{ data: unknown[] }>('GET', `${base}/events`)).status).toBe(200);
  expect((await user.rest<{ data: unknown[] }>('GET', '/api/projects')).body.data).toHaveLength(1);
  await sql.query('SELECT pg_wal_replay_resume()');
  const readStatistics = async () => {
    expect((await user.rest('GET', `${base}/delivery-stats`)).status).toBe(200);
    expect((await user.rest('GET', `${base}/revenue`)).status).toBe(200);
    return scans();
  };
  await expect.poll(readStatistics).toMatch(/FROM "Delivery"|"RevenueDay"/);
  await sql.end();
  await app.stop();
});
