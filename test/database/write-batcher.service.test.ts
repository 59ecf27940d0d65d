import pino from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/database/client.ts';
import type { Query, Statement } from '../../src/database/statement.ts';
import { type BatchStep, openWriteBatcher, type WriteBatcher } from '../../src/database/write-batcher.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { countRoundTrips } from '../support/round-trips.ts';

/** Statements about this test's own table, which isn't part of the schema. */
const unchecked = <Row>(query: Query) => query as unknown as Statement<Row>;

type Item = { id: number; bytes?: number; key?: string };

const log = pino({ level: 'silent' });
let database: TestDatabase;
let db: Database;
let batcher: WriteBatcher;
/** The sizes of all batches that were tried. */
let batches: number[];

beforeAll(async () => {
  database = await createTestDatabase();
  db = await openDatabase({ url: database.url, poolSize: 5, log });
  batcher = openWriteBatcher({ url: db.directUrl, pool: db.pool, log });
  await db.pool.query('CREATE TABLE "Counter" ("id" int PRIMARY KEY, "count" int NOT NULL CHECK ("count" < 100))');
});
beforeEach(async () => {
  batches = [];
  await db.pool.query('TRUNCATE "Counter"');
  await db.pool.query('INSERT INTO "Counter" SELECT n, 0 FROM generate_series(1, 50) n');
});
afterAll(async () => {
  await batcher?.close();
  await db?.close();
  await database?.drop();
});

const counting: BatchStep<Item, number | undefined> = {
  keyOf: ({ id, key }) => key ?? String(id),
  bytesOf: ({ bytes = 0 }) => bytes,
  async run(batch, items) {
    batches.push(items.length);
    const text = 'UPDATE "Counter" SET "count" = "count" + 1 WHERE "id" = ANY($1::int[]) RETURNING *';
    const values = [items.map(({ id }) => id)];
    const rows = await batch.query(unchecked<{ id: number; count: number }>({ name: 'count', text, values }));
    const counts = new Map(rows.map(({ id, count }) => [id, count]));
    return items.map(({ id }) => counts.get(id));
  },
};

const ids = (count: number) => Array.from({ length: count }, (_, index) => ({ id: index + 1 }));

describe('a batcher', () => {
  test('writes waiting items together, and returns each caller its own result', async () => {
    const count = batcher.step(counting);
    const results = await Promise.all(ids(40).map(count));
    expect(results).toEqual(Array.from({ length: 40 }, () => 1));
    expect(await count({ id: 99 })).toBeUndefined();
    expect(batches).toEqual([40, 1]);
  });

  test('never puts two items with the same key into a batch', async () => {
    const count = batcher.step(counting);
    expect(await Promise.all([1, 2, 1, 1, 3].map((id) => count({ id })))).toEqual([1, 1, 2, 3, 1]);
    expect(batches).toEqual([3, 1, 1]);
  });

  test('writes a large item alone, and splits a batch that would be too large', async () => {
    const count = batcher.step(counting);
    await Promise.all(
      [
        { id: 1, bytes: 10_000_000 },
        ...ids(20)
          .slice(1)
          .map((item) => ({ ...item, bytes: 100_000 })),
      ].map(count),
    );
    expect(batches.toSorted((a, b) => a - b)).toEqual([1, 9, 10]);
  });

  test('never fails an item because another one fails', async () => {
    await db.pool.query('UPDATE "Counter" SET "count" = 99 WHERE "id" = 3');
    const count = batcher.step(counting);
    const results = await Promise.allSettled(ids(5).map(count));
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
    const { rows } = await db.pool.query('SELECT sum("count")::int AS sum FROM "Counter"');
    expect(rows).toEqual([{ sum: 99 + 4 }]);
  });

  test('undoes everything if the statement that is sent with the commit fails', async () => {
    const count = batcher.step({
      ...counting,
      async run(batch, items) {
        const results = await counting.run(batch, items);
        const values = [items.map(({ id }) => id)];
        const text =
          'INSERT INTO "Counter" SELECT 1000 + id, CASE id WHEN 3 THEN 100 ELSE 0 END FROM unnest($1::int[]) id';
        batch.queryLast(unchecked({ name: 'note', text, values }));
        return results;
      },
    });
    const results = await Promise.allSettled(ids(5).map(count));
    expect(results.map((result) => (result.status === 'rejected' ? result.reason.code : result.value))).toEqual([
      ...[1, 1, '23514', 1, 1],
    ]);
    const { rows } = await db.pool.query('SELECT sum("count")::int AS sum, count(*)::int AS rows FROM "Counter"');
    expect(rows).toEqual([{ sum: 4, rows: 50 + 4 }]);
  });

  test('sends statements together in one round trip, and each statement sees what the earlier ones did', async () => {
    const double = batcher.step<Item, number>({
      bytesOf: ({ bytes = 0 }) => bytes,
      async run(batch, items) {
        const add = { name: 'add', text: 'UPDATE "Counter" SET "count" = "count" + 1 WHERE "id" = $1', values: [1] };
        const read = { name: 'read', text: 'SELECT "count" FROM "Counter" WHERE "id" = $1', values: [1] };
        const [, , rows] = await Promise.all([
          batch.query(unchecked(add)),
          batch.query(unchecked(add)),
          batch.query(unchecked<{ count: number }>(read)),
        ]);
        return items.map(() => rows[0]!.count);
      },
    });
    await double({ id: 1 });
    let count: number | undefined;
    const roundTrips = await countRoundTrips('tollgate-ledger', async () => {
      count = await double({ id: 1 });
    });
    expect({ count, roundTrips }).toEqual({ count: 4, roundTrips: 2 });
    // Items that are written alone use the pool, and its connections don't have this mode.
    expect(await double({ id: 1, bytes: 10_000_000 })).toBe(6);
  });

  test("doesn't make other items wait for an item with a locked row", async () => {
    const holder = await db.pool.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT FROM "Counter" WHERE "id" = 1 FOR UPDATE');
    const count = batcher.step(counting);
    const [locked, ...others] = ids(10).map(count);
    expect(await Promise.all(others)).toEqual(others.map(() => 1));
    const later = Promise.all([11, 12].map((id) => count({ id })));
    expect(await later).toEqual([1, 1]);
    await holder.query('COMMIT');
    holder.release();
    expect(await locked).toBe(1);
  });

  test('continues where it stopped after its connection is lost', async () => {
    const count = batcher.step(counting);
    await count({ id: 1 });
    await db.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE application_name = 'tollgate-ledger' AND datname = current_database()`,
    );
    expect(await Promise.all(ids(10).map(count))).toEqual([2, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    expect(await count({ id: 1 })).toBe(3);
  });

  test('still writes an item that arrives while the last batch is ending', async () => {
    const count = batcher.step(counting);
    const chain = async (id: number) => {
      for (let n = 0; n < 50; n++) await count({ id });
    };
    await Promise.all(ids(8).map(({ id }) => chain(id)));
    const { rows } = await db.pool.query('SELECT sum("count")::int AS sum FROM "Counter"');
    expect(rows).toEqual([{ sum: 400 }]);
  });
});
