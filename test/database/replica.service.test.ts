import pg from 'pg';
import pino from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { startThrowawayPostgres } from '../../scripts/throwaway-postgres.ts';
import { type Database, openDatabase } from '../../src/database/client.ts';
import type { EmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.ts';
import { applyMigrations, MIGRATIONS } from '../../src/database/migrations.ts';
import { MAX_LAG_MILLISECONDS, openReplica, REPLICA_CONNECTIONS_PER_ACCOUNT } from '../../src/database/replica.ts';
import { createAccountTurns } from '../../src/limits/turns.ts';
import { startOperation } from '../../src/operation.ts';
import { startTestApp } from '../support/app.ts';
import { runOnServer } from '../support/database.ts';
import { databaseUrl } from '../support/database-url.ts';
import { createProject } from '../support/resources.ts';
import { type Standby, startStandby } from '../support/standby.ts';

const DATABASE = 'tollgate';
const LOCK = 4711;
const log = pino({ level: 'silent' });

let primary: EmbeddedPostgres;
let standby: Standby;
let url: string;
let db: Database;
/** How many measurements have started. Each one moves the replica's clock by a second, so that no stall looks like lag. */
let measurements = 0;

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

/** Opens a replica as the `api` role does, but with its own clock. */
function open(replicaUrl: string, logger: pino.Logger): ReturnType<typeof openReplica> {
  const turns = createAccountTurns({ perAccount: REPLICA_CONNECTIONS_PER_ACCOUNT, perProcess: Infinity });
  const pool = {
    query(...statement: Parameters<Database['pool']['query']>) {
      measurements++;
      return db.pool.query(...statement);
    },
  };
  return openReplica({
    ...{ db: { ...db, pool: pool as typeof db.pool }, url: replicaUrl, log: logger, turns },
    ...{ probeTimeoutMilliseconds: 60_000, now: () => measurements * 1_000 },
  });
}

async function connectToStandby(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: standby.urlOf(DATABASE) });
  await client.connect();
  return client;
}

describe('statistics', () => {
  const write = vi.fn();
  let replica: ReturnType<typeof openReplica>;

  beforeEach(async () => {
    write.mockReset();
    replica = open(standby.urlOf(DATABASE), pino({ level: 'info' }, { write }));
    await expect.poll(source).toBe('standby');
  });
  afterEach(() => replica.close());

  /** Returns the server that statistics are read from. */
  async function source(): Promise<string> {
    const [row] = await replica.$queryRaw<[{ isStandby: boolean }]>`SELECT pg_is_in_recovery() AS "isStandby"`;
    return row.isStandby ? 'standby' : 'primary';
  }
  /** Returns how many milliseconds ago the last transaction replayed by the standby was committed. */
  async function silence(): Promise<number> {
    const [row] = await replica.$queryRaw<[{ milliseconds: number }]>`
      SELECT coalesce(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()), 0)::float8 * 1000
        AS "milliseconds"`;
    return row.milliseconds;
  }
  const logged = () => write.mock.calls.join();

  test('come from a standby, even while nothing is written for a long time', async () => {
    await runOnServer(url, 'CREATE TABLE last ()');
    const before = measurements;
    await expect.poll(silence).toBeGreaterThan(MAX_LAG_MILLISECONDS);
    await expect.poll(() => (measurements - before) * 1_000).toBeGreaterThan(MAX_LAG_MILLISECONDS);
    expect(await source()).toBe('standby');
    expect(logged()).not.toContain('primary');
  });

  test('come from the primary server while the standby is too far behind', async () => {
    await runOnServer(standby.urlOf(DATABASE), 'SELECT pg_wal_replay_pause()');
    await runOnServer(url, 'CREATE TABLE later ()');
    expect(await source()).toBe('standby');
    await expect.poll(source).toBe('primary');
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
    const locker = await connectToStandby();
    await locker.query(`SELECT pg_advisory_lock(${LOCK})`);
    let acquired = 0;
    replica.pool.on('acquire', () => acquired++);
    const slow = () => replica.$queryRaw<[{ isStandby: boolean }]>`
      SELECT pg_is_in_recovery() AS "isStandby" FROM pg_advisory_xact_lock_shared(${LOCK}::int)`;
    const reads = Array.from({ length: replica.pool.options.max }, slow);
    await expect.poll(() => acquired).toBe(reads.length);
    const before = measurements;
    // The third measurement starts after the second has found the replica usable.
    await expect.poll(() => measurements - before).toBeGreaterThanOrEqual(3);
    reads.push(slow(), slow());
    await locker.end();
    const rows = await Promise.all(reads);
    expect(rows.flat().map(({ isStandby }) => isStandby)).toEqual(reads.map(() => true));
    expect(logged()).not.toContain('primary');
  });

  test('come from the primary server if the standby fails to return them', async () => {
    await runOnServer(standby.urlOf(DATABASE), 'SELECT pg_wal_replay_pause()');
    await runOnServer(url, 'CREATE TABLE newest (); INSERT INTO newest DEFAULT VALUES');
    expect(await replica.$queryRaw`SELECT count(*)::int AS "count" FROM newest`).toEqual([{ count: 1 }]);
    await runOnServer(standby.urlOf(DATABASE), 'SELECT pg_wal_replay_resume()');
  });
});

describe('an account’s reads of statistics', () => {
  let replica: ReturnType<typeof openReplica>;
  let locker: pg.Client;
  let acquired = 0;

  beforeEach(async () => {
    replica = open(standby.urlOf(DATABASE), log);
    await expect.poll(() => readFor('carol', free)).toEqual([{ isStandby: true }]);
    locker = await connectToStandby();
    await locker.query(`SELECT pg_advisory_lock(${LOCK})`);
    acquired = 0;
    replica.pool.on('acquire', () => acquired++);
  });
  afterEach(async () => {
    await locker.end();
    await replica.close();
  });

  const free = () => replica.$queryRaw`SELECT pg_is_in_recovery() AS "isStandby"`;
  const blocked = () => replica.$queryRaw`
    SELECT pg_is_in_recovery() AS "isStandby" FROM pg_advisory_xact_lock_shared(${LOCK}::int)`;

  function readFor(accountId: string, read: () => Promise<unknown>): Promise<unknown> {
    const operation = startOperation(60_000, (job) => job(), accountId);
    return operation.run(read).finally(operation.end);
  }

  test('use a quarter of the connections to the standby, and other accounts use the rest', async () => {
    const reads = Array.from({ length: 8 }, () => readFor('alice', blocked));
    await expect.poll(() => acquired).toBeGreaterThan(0);
    expect(await readFor('bob', free)).toEqual([{ isStandby: true }]);
    expect(acquired).toBe(2);
    await locker.query(`SELECT pg_advisory_unlock(${LOCK})`);
    expect((await Promise.all(reads)).flat()).toEqual(Array(8).fill({ isStandby: true }));
  });

  test('don’t start on any server if the deadline passes while they wait their turn', async () => {
    const first = readFor('alice', blocked);
    const late = startOperation(1, (job) => job(), 'alice');
    const refused = expect(late.run(free)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(late.over).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await locker.query(`SELECT pg_advisory_unlock(${LOCK})`);
    await refused;
    expect(await first).toEqual([{ isStandby: true }]);
    expect(acquired).toBe(1);
  });
});

test.each([
  ['a primary server', () => url],
  ['another database of a standby', () => standby.urlOf('postgres')],
])('statistics never come from %s', async (_title, urlOf) => {
  const write = vi.fn();
  const replica = open(urlOf(), pino({ level: 'warn' }, { write }));
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
  const sql = await connectToStandby();
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
  await expect.poll(readStatistics).toMatch(/FROM "(Delivery|Payment)"|"RevenueDay"/);
  await sql.end();
  await app.stop();
});
