import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import pg from 'pg';
import pino from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { keepPartitions } from '../../src/database/partitions.ts';
import { newId } from '../../src/ids.ts';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts';

const DAY = 24 * 60 * 60_000;
const MIGRATIONS = resolve(import.meta.dirname, '../../prisma/migrations');
const log = pino({ level: 'silent' });
const PARENTS = ['Attempt', 'Delivery', 'Event'];

let database: TestDatabase;
let pool: pg.Pool;
let projectId: string;
let webhookId: string;

beforeEach(async () => {
  database = await createTestDatabase();
  await open();
  await addProject();
});

afterEach(async () => {
  await pool.end();
  await database.drop();
});

async function open(): Promise<void> {
  pool = new pg.Pool({ connectionString: database.url });
}

async function addProject(): Promise<void> {
  const userId = newId('User');
  projectId = newId('Project');
  webhookId = newId('Webhook');
  await pool.query(`INSERT INTO "User" ("id", "issuer", "subject") VALUES ($1, 'i', 's')`, [userId]);
  await pool.query(`INSERT INTO "Project" ("id", "userId", "name", "walletAddress") VALUES ($1, $2, 'P', '0x')`, [
    ...[projectId, userId],
  ]);
  await pool.query(
    `INSERT INTO "Webhook" ("id", "projectId", "url", "eventTypes", "secret") VALUES ($1, $2, 'u', '{*}', 's')`,
    [webhookId, projectId],
  );
}

/** Adds an event with a delivery and an attempt, all created `daysAgo` days ago. */
async function addHistory(daysAgo: number, { status = 'SUCCEEDED', eventDaysAgo = daysAgo } = {}) {
  const eventId = idDaysAgo('Event', eventDaysAgo);
  const deliveryId = idDaysAgo('Delivery', daysAgo);
  await pool.query(`INSERT INTO "Event" ("id", "projectId", "type", "data") VALUES ($1, $2, 't', '{}')`, [
    ...[eventId, projectId],
  ]);
  await pool.query(
    `INSERT INTO "Delivery" ("id", "projectId", "eventId", "eventType", "webhookId", "status")
     VALUES ($1, $2, $3, 't', $4, $5::"DeliveryStatus")`,
    [deliveryId, projectId, eventId, webhookId, status],
  );
  await pool.query(
    `INSERT INTO "Attempt" ("id", "deliveryId", "number", "trigger", "startedAt", "durationMs")
     VALUES ($1, $2, 1, 'SCHEDULED', now(), 1)`,
    [newId('Attempt'), deliveryId],
  );
  return { eventId, deliveryId };
}

/** `newId` returns only increasing IDs for the current time, so this function replaces the time in a new ID. */
function idDaysAgo(type: 'Event' | 'Delivery', days: number): string {
  const milliseconds = BigInt(Math.floor(Date.now() - days * DAY));
  const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
  const time = Array.from({ length: 10 }, (_, i) => alphabet[Number((milliseconds >> BigInt(45 - 5 * i)) & 31n)]);
  const id = newId(type);
  return `${id.slice(0, -26)}${time.join('')}${id.slice(-16)}`;
}

const partitionsOf = async (parent: string): Promise<string[]> =>
  (
    await pool.query(`SELECT inhrelid::regclass::text AS n FROM pg_inherits WHERE inhparent = $1::regclass`, [
      `"${parent}"`,
    ])
  ).rows
    .map(({ n }) => n.replaceAll('"', ''))
    .sort();
const idsOf = async (table: string, column = 'id'): Promise<string[]> =>
  (await pool.query(`SELECT "${column}" AS id FROM "${table}" ORDER BY 1`)).rows.map(({ id }) => id);
const isEmpty = async (table: string) => (await pool.query(`SELECT FROM "${table}" LIMIT 1`)).rowCount === 0;

/** Creates partitions for `days` days of history. */
async function withPartitionsOf(days: number): Promise<void> {
  // The first partition ends this week. Shorten it so that older weeks get their own partitions.
  for (const parent of PARENTS) await pool.query(`DROP TABLE "${parent}_initial"`);
  for (const parent of PARENTS) {
    const type = parent === 'Event' ? 'Event' : 'Delivery';
    const end = Math.floor((Date.now() - days * DAY) / (7 * DAY)) * 7 * DAY;
    const bound = idDaysAgo(type, (Date.now() - end) / DAY)
      .slice(0, -16)
      .concat('0'.repeat(16));
    await pool.query(
      `CREATE TABLE "${parent}_initial" PARTITION OF "${parent}" FOR VALUES FROM (MINVALUE) TO ('${bound}')`,
    );
  }
  await keepPartitions({ pool, log, retentionDays: 3650 });
}

test('partitions are created three weeks ahead, only once, and by one process at a time', async () => {
  const rounds = await Promise.all(Array.from({ length: 4 }, () => keepPartitions({ pool, log, retentionDays: 90 })));
  await keepPartitions({ pool, log, retentionDays: 90 });
  const created = rounds.flatMap((round) => round.created);
  expect(new Set(created).size).toBe(created.length);
  for (const parent of PARENTS) {
    const partitions = await partitionsOf(parent);
    expect(partitions).toHaveLength(5);
    expect(partitions.slice(0, 3).every((name) => /_\d{8}$/.test(name))).toBe(true);
  }
  expect((await keepPartitions({ pool, log, retentionDays: 90 })).created).toEqual([]);
});

test('history older than the retention period is dropped a week at a time, and everything else stays', async () => {
  await withPartitionsOf(60);
  const old = [await addHistory(58), await addHistory(40)];
  const kept = [await addHistory(29), await addHistory(8), await addHistory(0)];
  const before = await partitionsOf('Attempt');

  const { dropped } = await keepPartitions({ pool, log, retentionDays: 30 });
  expect(dropped.length).toBeGreaterThanOrEqual(3 * 3);
  expect(await idsOf('Event')).toEqual(kept.map(({ eventId }) => eventId).sort());
  expect(await idsOf('Delivery')).toEqual(kept.map(({ deliveryId }) => deliveryId).sort());
  expect(await idsOf('Attempt', 'deliveryId')).toEqual(kept.map(({ deliveryId }) => deliveryId).sort());
  expect((await partitionsOf('Attempt')).length).toBe(before.length - dropped.length / 3);
  expect(old).toHaveLength(2);
});

test('partitions of other tables are dropped even if one partition cannot be dropped', async () => {
  await withPartitionsOf(60);
  await addHistory(58);
  const { eventId } = await addHistory(1);
  const [oldest] = (await partitionsOf('Attempt')).filter((name) => /_\d{8}$/.test(name));
  await pool.query(`CREATE VIEW kept AS SELECT * FROM "${oldest}"`);
  await expect(keepPartitions({ pool, log, retentionDays: 30 })).rejects.toThrow('other objects depend on it');
  expect(await idsOf('Event')).toEqual([eventId]);
  expect(await partitionsOf('Attempt')).toContain(oldest);
});

test('every partition of deliveries leaves room for claims on its pages', async () => {
  await keepPartitions({ pool, log, retentionDays: 90 });
  const { rows } = await pool.query(
    `SELECT count(*)::int AS n, array_agg(DISTINCT c.reloptions::text) AS options
     FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = '"Delivery"'::regclass`,
  );
  expect(rows).toEqual([{ n: 5, options: ['{fillfactor=50}'] }]);
});

test('a row without a partition goes to the default one, and moves once its partition exists', async () => {
  const { eventId, deliveryId } = await addHistory(-10);
  expect(await isEmpty('Event_default')).toBe(false);
  await keepPartitions({ pool, log, retentionDays: 90 });
  for (const parent of PARENTS) expect(await isEmpty(`${parent}_default`)).toBe(true);
  expect(await idsOf('Event')).toEqual([eventId]);
  expect(await idsOf('Delivery')).toEqual([deliveryId]);
  expect(await idsOf('Attempt', 'deliveryId')).toEqual([deliveryId]);
});

test('a notice about a held delivery stays open when its delivery moves to a new partition', async () => {
  const { deliveryId } = await addHistory(-10, { status: 'PENDING' });
  const connectorId = newId('Connector');
  await pool.query(
    `INSERT INTO "Connector" ("id", "projectId", "type", "config", "secretConfig", "eventTypes")
     VALUES ($1, $2, 'xero', '{}', '', '{*}')`,
    [connectorId, projectId],
  );
  await pool.query(
    `UPDATE "Delivery" SET "webhookId" = NULL, "connectorId" = $2, "nextAttemptAt" = NULL, "reason" = 'Reopen the period.'
     WHERE "id" = $1`,
    [deliveryId, connectorId],
  );
  const notices = async () => (await pool.query('SELECT "type", "subjectId", "closedAt" FROM "Notice"')).rows;
  const open = { type: 'delivery.held', subjectId: deliveryId, closedAt: null };
  expect(await notices()).toEqual([open]);
  await keepPartitions({ pool, log, retentionDays: 90 });
  expect(await isEmpty('Delivery_default')).toBe(true);
  expect(await notices()).toEqual([open]);
  await pool.query('DELETE FROM "Delivery"');
  expect(await notices()).toEqual([{ ...open, closedAt: expect.any(Date) }]);
});

test('deliveries created in the week after their event are dropped with it, even unfinished ones', async () => {
  await withPartitionsOf(60);
  const border = Math.floor((Date.now() - 30 * DAY) / (7 * DAY)) * 7 * DAY;
  const borderDaysAgo = (Date.now() - border) / DAY;
  const second = 1_000 / DAY;
  await addHistory(borderDaysAgo - 10 * second, { eventDaysAgo: borderDaysAgo + second });
  await addHistory(45, { status: 'PENDING' });
  const { deliveryId } = await addHistory(1, { status: 'PENDING' });
  await keepPartitions({ pool, log, retentionDays: 30 });
  expect(await idsOf('Delivery')).toEqual([deliveryId]);
  expect(await idsOf('Attempt', 'deliveryId')).toEqual([deliveryId]);
});

test('dropping a partition during a long read does not block other reads, and finishes after the long read ends', async () => {
  await withPartitionsOf(60);
  await addHistory(50);
  const reader = await pool.connect();
  await reader.query('BEGIN; SELECT count(*) FROM "Attempt"');
  const round = keepPartitions({ pool, log, retentionDays: 30 });
  // While the drop is retried, other reads wait no longer than its lock timeout.
  for (let count = 0; count < 5; count++) {
    await pool.query(`SET statement_timeout = '3s'; SELECT count(*) FROM "Attempt"`);
  }
  await reader.query('COMMIT');
  reader.release();
  expect((await round).dropped).not.toEqual([]);
  expect(await isEmpty('Event')).toBe(true);
});

test('a partition is dropped even if long reads overlap all the time', async () => {
  await withPartitionsOf(60);
  await addHistory(50);
  const readers = new pg.Pool({ connectionString: database.url, application_name: 'tollgate' });
  const codes = new Set<unknown>();
  let isOver = false;
  async function readAlways(): Promise<void> {
    while (!isOver) {
      await readers.query(`SELECT pg_sleep(600) FROM "Delivery" LIMIT 1`).catch(({ code }) => codes.add(code));
    }
  }
  const countReads = async () =>
    (await pool.query(`SELECT FROM pg_stat_activity WHERE query LIKE 'SELECT pg\\_sleep(600)%' AND state = 'active'`))
      .rowCount;
  const reading = Array.from({ length: 3 }, readAlways);
  try {
    await expect.poll(countReads).toBe(3);
    const { dropped } = await keepPartitions({ pool, log, retentionDays: 30 });
    expect(dropped).toContainEqual(expect.stringMatching(/^Delivery_/));
    // query_canceled, which callers get as UNAVAILABLE.
    expect([...codes]).toEqual(['57014']);
  } finally {
    isOver = true;
    await pool.query(
      `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT pg\\_sleep(600)%' AND state = 'active'`,
    );
    await Promise.all(reading);
    await readers.end();
  }
});

test('deleting a webhook deletes its deliveries and attempts in all partitions, and deleting a project deletes everything', async () => {
  await withPartitionsOf(60);
  await addHistory(50);
  await addHistory(1);
  await pool.query('DELETE FROM "Webhook" WHERE "id" = $1', [webhookId]);
  expect(await isEmpty('Delivery')).toBe(true);
  expect(await isEmpty('Attempt')).toBe(true);
  expect(await idsOf('Event')).toHaveLength(2);
  await pool.query('DELETE FROM "Project" WHERE "id" = $1', [projectId]);
  expect(await isEmpty('Event')).toBe(true);
});

test('existing tables become the first partition with all their rows', async () => {
  await pool.end();
  await database.drop();
  database = await createEmptyDatabase();
  await open();
  const names = (await readdir(MIGRATIONS)).filter((name) => /^\d+_/.test(name)).sort();
  const partitions = names.findIndex((name) => name.endsWith('_partitions'));
  const apply = async (some: string[]) => {
    for (const name of some) await pool.query(await readFile(join(MIGRATIONS, name, 'migration.sql'), 'utf8'));
  };
  await apply(names.slice(0, partitions));
  await addProject();
  // The last one comes from a machine with a fast clock.
  const rows = [await addHistory(400), await addHistory(3), await addHistory(-20)];
  await apply(names.slice(partitions));

  expect(await idsOf('Event')).toEqual(rows.map(({ eventId }) => eventId).sort());
  expect(await idsOf('Event_initial')).toHaveLength(3);
  expect(await idsOf('Attempt', 'deliveryId')).toEqual(rows.map(({ deliveryId }) => deliveryId).sort());
  await keepPartitions({ pool, log, retentionDays: 7 });
  expect(await idsOf('Event')).toHaveLength(3);
  await addHistory(-50);
  expect(await idsOf('Event_default')).toHaveLength(1);
  await pool.query('DELETE FROM "Webhook"');
  expect(await isEmpty('Attempt')).toBe(true);
});
