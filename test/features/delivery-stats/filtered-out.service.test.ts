import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { applyMigrations, MIGRATIONS } from '../../../src/database/migrations.ts';
import { keepPartitions } from '../../../src/database/partitions.ts';
import { createHistoryClearing } from '../../../src/features/deletions/clear-history.ts';
import { countFilteredOut } from '../../../src/features/delivery-stats/filtered-out.ts';
import { createRollups } from '../../../src/features/delivery-stats/rollups.ts';
import { firstIdAt, newId } from '../../../src/ids.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createProject, type Resource } from '../../support/resources.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NOON = Math.floor(Date.now() / DAY) * DAY - 20 * DAY + 12 * HOUR;
const log = pino({ level: 'silent' });

let app: TestApp;
let sql: pg.Pool;
/** Connections whose clock is ten minutes ahead, so only an open transaction holds back what they count. */
let ahead: pg.Pool;
let alice: TestUser;
let shop: Resource & { base: string };

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  sql = new pg.Pool({ connectionString: app.databaseUrl, max: 4 });
  alice = await app.user('alice', 'ENTERPRISE');
  await sql.query(`
    CREATE SCHEMA later;
    CREATE FUNCTION later.now() RETURNS timestamptz LANGUAGE sql AS $$ SELECT pg_catalog.now() + interval '10 minutes' $$`);
  ahead = new pg.Pool({
    connectionString: app.databaseUrl,
    onConnect: async (client) => void (await client.query('SET search_path = later, pg_catalog, public')),
  });
});
afterAll(async () => {
  await ahead?.end();
  await sql?.end();
  await app?.stop();
});
beforeEach(async () => {
  await sql.query('DELETE FROM "Event"');
  await sql.query('DELETE FROM "FilteredOutRollup"');
  await sql.query(`UPDATE "FilteredOutProgress" SET "countedUntil" = ''`);
  shop = await createProject(alice);
});

/** For each list of destinations, adds an event that happened at this time and that those destinations filter out. */
async function happen(time: number, lists: string[][], db: pg.Pool | pg.Client = sql): Promise<void> {
  for (const list of lists) {
    await db.query(
      `INSERT INTO "Event" ("id", "projectId", "type", "data", "timestamp", "filteredOut")
       VALUES ($1, $2, 'payment.settled', '{}', $3, $4)`,
      [idAt(time), shop.id, new Date(time), list.length > 0 ? list : null],
    );
  }
}

const idAt = (time: number) => firstIdAt('Event', time).slice(0, -16) + newId('Event').slice(-16);
/** Counts as if the oldest open transaction had started at that time. */
const countUntil = (time: number) => countFilteredOut(sql, new Date(time), new AbortController().signal);

const countAll = () => createRollups({ pool: ahead, log }).run();

async function connect(applicationName?: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: app.databaseUrl, application_name: applicationName });
  await client.connect();
  return client;
}

type Stats = { filteredOut: { destinationId: string; count: number }[]; from: string; to: string };

async function read(from: number, to: number, interval = 'HOUR'): Promise<Stats> {
  const period = `from=${new Date(from).toISOString()}&to=${new Date(to).toISOString()}`;
  return (await alice.rest<Stats>('GET', `${shop.base}/delivery-stats?${period}&interval=${interval}`)).body;
}

/** Compares the statistics with a count of the events. */
async function expectExact(): Promise<void> {
  for (const [interval, length] of Object.entries({ HOUR: 3 * HOUR, DAY: 3 * DAY, MONTH: 40 * DAY })) {
    const { filteredOut, from, to } = await read(NOON - length, NOON + length, interval);
    const { rows } = await sql.query(
      `SELECT d AS "destinationId", count(*)::int AS "count" FROM "Event", unnest("filteredOut") AS d
       WHERE "projectId" = $1 AND "timestamp" >= $2 AND "timestamp" < $3 GROUP BY 1 ORDER BY 2 DESC, 1`,
      [shop.id, from, to],
    );
    expect(filteredOut, interval).toEqual(rows);
  }
}

const rollups = async () =>
  (await sql.query('SELECT "hour", "destinationId", "count" FROM "FilteredOutRollup" ORDER BY "hour", "destinationId"'))
    .rows;

describe('the events that filters exclude', () => {
  test('are counted by destination and period, with the same result before and after they are added up', async () => {
    const steps = [-40 * DAY, -2 * DAY, -2 * HOUR, -HOUR, -2 * MINUTE, 0, 2 * MINUTE, HOUR, DAY];
    for (const [index, step] of steps.entries()) {
      await happen(NOON + step, [['wh_a'], ['wh_a', 'con_b'], [], ...(index % 2 ? [['wh_c']] : [])]);
      await expectExact();
      await countUntil(NOON + step + 2 * MINUTE);
      await expectExact();
    }
    expect((await read(NOON - HOUR, NOON + HOUR)).filteredOut[0]).toEqual({ destinationId: 'wh_a', count: 8 });
    const { rows } = await sql.query('SELECT sum("count")::int AS "sum" FROM "FilteredOutRollup"');
    expect(rows).toEqual([{ sum: steps.length * 3 + 4 }]);
  });

  test('are added up once, no matter how many processes do it', async () => {
    for (let minute = 0; minute < 10; minute++) await happen(NOON + minute * MINUTE, [['wh_a']]);
    await Promise.all([1, 2, 3, 4].map(() => countUntil(NOON + 6 * MINUTE)));
    await Promise.all([1, 2, 3, 4].map(() => countUntil(NOON + HOUR)));
    expect(await rollups()).toEqual([{ hour: new Date(NOON), destinationId: 'wh_a', count: 10 }]);
  });

  test('are not missed if their transaction ends late', async () => {
    const late = await connect();
    try {
      await late.query('BEGIN');
      await happen(Date.now(), [['wh_late']], late);
      await happen(Date.now(), [['wh_early']]);
      await countAll();
      expect(await rollups()).toEqual([]);
      await late.query('COMMIT');
      await countAll();
      expect(await rollups()).toMatchObject([
        { destinationId: 'wh_early', count: 1 },
        { destinationId: 'wh_late', count: 1 },
      ]);
    } finally {
      await late.end();
    }
  });

  test('are counted while a backup is running and an index build waits for it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tollgate-migrations-'));
    // A folder with one of the database's migrations belongs to the same application.
    const known = (await readdir(MIGRATIONS)).find((name) => /^\d/.test(name))!;
    await cp(join(MIGRATIONS, known), join(folder, known), { recursive: true });
    await mkdir(join(folder, '29990101000000_index'));
    const build = 'CREATE INDEX CONCURRENTLY "note_number" ON "note" ("number")';
    await writeFile(join(folder, '29990101000000_index', 'migration.sql'), build);
    await sql.query('CREATE TABLE "note" ("number" INTEGER)');

    const backup = await connect('pg_dump');
    await backup.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM "note"');
    const applying = applyMigrations(app.databaseUrl, folder, log);
    try {
      const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND query = $1 AND wait_event_type = 'Lock'`;
      await expect.poll(async () => (await sql.query(waiting, [build])).rowCount).toBe(1);
      await happen(Date.now(), [['wh_a']]);
      const counted = async () => {
        await countAll();
        return rollups();
      };
      await expect.poll(counted).toMatchObject([{ destinationId: 'wh_a', count: 1 }]);
    } finally {
      await backup.end();
      await applying;
      await sql.query('DROP TABLE "note"');
      await rm(folder, { recursive: true });
    }
  });

  test('are no longer counted once their week is dropped', async () => {
    const week = Math.floor((Date.now() - 30 * DAY) / (7 * DAY)) * 7 * DAY;
    await sql.query(`DROP TABLE "Event_initial"`);
    await sql.query(
      `CREATE TABLE "Event_initial" PARTITION OF "Event" FOR VALUES FROM (MINVALUE) TO ('${firstIdAt('Event', week)}')`,
    );
    await keepPartitions({ pool: sql, log, retentionDays: 3650 });
    await happen(week - HOUR, [['wh_a']]);
    await happen(week, [['wh_a']]);
    await countUntil(week + HOUR);
    expect(await rollups()).toHaveLength(2);
    await keepPartitions({ pool: sql, log, retentionDays: (Date.now() - week) / DAY - 1 });
    expect(await rollups()).toEqual([{ hour: new Date(week), destinationId: 'wh_a', count: 1 }]);
  });

  test('are deleted with their project, even while they are being added up', async () => {
    await happen(NOON, [['wh_a']]);
    await countUntil(NOON + HOUR);
    await happen(NOON + HOUR, [['wh_a']]);
    expect((await alice.rest('DELETE', shop.base)).status).toBe(204);
    const bus = { subscribe: () => () => {} };
    const clearing = createHistoryClearing({ pool: sql, bus: bus as never, log });
    clearing.start();
    try {
      await expect
        .poll(async () => {
          await countUntil(NOON + 3 * HOUR);
          return (await sql.query('SELECT FROM "Project" WHERE "id" = $1', [shop.id])).rowCount;
        })
        .toBe(0);
      expect(await rollups()).toEqual([]);
    } finally {
      await clearing.stop();
    }
  });
});
