import pg from 'pg';
import pino from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Viewer } from '../../src/auth/viewer.ts';
import type { Bus } from '../../src/bus/bus.ts';
import { type Database, openDatabase } from '../../src/database/client.ts';
import { behindWall } from '../../src/database/tenant-client.ts';
import { firstIdAt, type IdType, newId } from '../../src/ids.ts';
import { eventChanges } from '../../src/live/change-queries.ts';
import { createLiveFeed, type LiveFeed } from '../../src/live/feed.ts';
import { readChanges } from '../../src/live/read-changes.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

type Client = Pick<pg.Client, 'query'>;
type Feed<Item> = AsyncIterableIterator<Item>;

let testDatabase: TestDatabase;
let db: Database;
let feed: LiveFeed;
let alice: Viewer;
let projectId: string;
/** Hints reach the feed only when the test sends them. */
const listeners = new Set<() => void>();
const hint = () => {
  for (const listener of listeners) listener();
};
const bus: Bus = {
  publish: () => {},
  publishHereFirst: () => {},
  subscribe(_topic, listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  close: async () => {},
};
const open: AsyncIterableIterator<unknown>[] = [];

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  db = await openDatabase({ url: testDatabase.url, poolSize: 10, log: pino({ level: 'silent' }) });
  feed = createLiveFeed({ db: behindWall(db), bus });
});

beforeEach(async () => {
  alice = await createUser();
  projectId = await createProject(alice);
});

afterEach(async () => {
  await Promise.all(open.splice(0).map((items) => items.return!()));
  expect(listeners.size).toBe(0);
});

afterAll(async () => {
  await db?.close();
  await testDatabase?.drop();
});

async function createUser(): Promise<Viewer> {
  const userId = newId('User');
  await db.pool.query(`INSERT INTO "User" (id, issuer, subject) VALUES ($1, 'test', $1)`, [userId]);
  return { kind: 'user', userId, tier: 'PRO', requestsPerMinute: null, expiresAt: new Date(Date.now() + 3_600_000) };
}

async function createProject({ userId }: Viewer): Promise<string> {
  const id = newId('Project');
  await db.pool.query(`INSERT INTO "Project" (id, "userId", name, "walletAddress") VALUES ($1, $2, 'Shop', '0x')`, [
    id,
    userId,
  ]);
  return id;
}

async function insertEvent(client: Client = db.pool, options: { type?: string; id?: string } = {}): Promise<string> {
  const { type = 'endpoint.created', id = newId('Event') } = options;
  await client.query(`INSERT INTO "Event" (id, "projectId", type, data) VALUES ($1, $2, $3, '{}')`, [
    id,
    projectId,
    type,
  ]);
  return id;
}

async function insertDelivery(client: Client = db.pool, eventType = 'endpoint.created'): Promise<string> {
  const id = newId('Delivery');
  const eventId = await insertEvent(client, { type: eventType });
  await client.query(`INSERT INTO "Delivery" (id, "projectId", "eventId", "eventType") VALUES ($1, $2, $3, $4)`, [
    id,
    projectId,
    eventId,
    eventType,
  ]);
  return id;
}

const update = (id: string, set: string, client: Client = db.pool) =>
  client.query(`UPDATE "Delivery" SET ${set} WHERE id = $1`, [id]);

/** Returns an ID as a machine with that clock would create it. */
const eventIdAt = (milliseconds: number) => firstIdAt('Event', milliseconds).slice(0, 14) + newId('Event').slice(14);

/** Begins a transaction on a new connection, for the test to commit later. */
async function begin(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: testDatabase.url });
  await client.connect();
  await client.query('BEGIN');
  return client;
}

async function commit(client: pg.Client): Promise<void> {
  await client.query('COMMIT');
  await client.end();
}

function followed<Item>(items: Feed<Item>): Feed<Item> {
  open.push(items);
  return items;
}

const events = async (options: { after?: string; types?: string[] } = {}, viewer = alice) =>
  followed(await feed.events(viewer, { projectId, ...options }));
const deliveries = async (options: Omit<Parameters<LiveFeed['deliveries']>[1], 'projectId'> = {}) =>
  followed(await feed.deliveries(alice, { projectId, ...options }));

async function take<Item>(items: Feed<Item>, count: number): Promise<Item[]> {
  const taken: Item[] = [];
  for (let index = 0; index < count; index++) {
    const next = items.next();
    hint();
    taken.push((await next).value!);
  }
  return taken;
}

async function cursorAfter(items: Feed<{ cursor: string }>, count: number): Promise<string> {
  return (await take(items, count)).at(-1)!.cursor;
}

const byId = <Row extends { id: string }>(rows: readonly Row[]) => new Map(rows.map((row) => [row.id, row]));

const idsOf = (items: { event: { id: string } }[]) => items.map(({ event }) => event.id);

/** Inserts an event as a marker, and returns everything that the feed shows before it. */
async function untilNow(items: Awaited<ReturnType<typeof events>>): Promise<string[]> {
  const marker = await insertEvent();
  hint();
  const seen: string[] = [];
  for await (const { event } of { [Symbol.asyncIterator]: () => ({ next: () => items.next() }) }) {
    if (event.id === marker) break;
    seen.push(event.id);
  }
  return seen;
}

describe('a feed without a cursor', () => {
  test('shows later events, but not existing ones', async () => {
    await insertEvent();
    const items = await events();
    const written = [await insertEvent(), await insertEvent()];
    expect(idsOf(await take(items, 2))).toEqual(written);
  });

  test('does not show existing events, even if an older transaction was still running', async () => {
    const older = await begin();
    await older.query('SELECT pg_current_xact_id()');
    await insertEvent();
    const items = await events();
    await commit(older);
    expect(await untilNow(items)).toEqual([]);
  });

  test('shows events that were written earlier but committed later', async () => {
    const writer = await begin();
    const written = await insertEvent(writer);
    await insertEvent();
    const items = await events();
    await commit(writer);
    expect(await untilNow(items)).toEqual([written]);
  });

  test('shows events once, even if they are committed in a different order than they were written', async () => {
    const items = await events();
    const slow = await begin();
    const first = await insertEvent(slow);
    const second = await insertEvent();
    expect(idsOf(await take(items, 1))).toEqual([second]);
    await commit(slow);
    expect(idsOf(await take(items, 1))).toEqual([first]);
    expect(await untilNow(items)).toEqual([]);
  });

  test('shows rows from savepoints and from several events in one transaction', async () => {
    const items = await events();
    const writer = await begin();
    const written = [await insertEvent(writer)];
    await writer.query('SAVEPOINT inner_one');
    written.push(await insertEvent(writer));
    await insertEvent();
    await take(items, 1);
    await writer.query('RELEASE inner_one');
    written.push(await insertEvent(writer));
    await commit(writer);
    expect(await untilNow(items)).toEqual(written);
  });

  test('does not show events from a transaction that was rolled back', async () => {
    const items = await events();
    const writer = await begin();
    await insertEvent(writer);
    await writer.query('ROLLBACK');
    await writer.end();
    expect(await untilNow(items)).toEqual([]);
  });

  test('shows events from machines with different clocks', async () => {
    const items = await events();
    const written = [
      await insertEvent(db.pool, { id: eventIdAt(Date.now() + 600_000) }),
      await insertEvent(db.pool, { id: eventIdAt(Date.now() - 8_000) }),
      await insertEvent(),
    ];
    const seen = idsOf(await take(items, 3));
    expect(seen.sort()).toEqual(written.sort());
    expect(await untilNow(items)).toEqual([]);
  });

  test('finds events by polling if hints are lost', async () => {
    const items = await events();
    // The feed's first read can find the first event, but every later one needs another read.
    for (let count = 0; count < 3; count++) {
      const written = await insertEvent();
      expect((await items.next()).value!.event.id).toBe(written);
    }
  });
});

describe('a feed from a cursor', () => {
  test('shows events that were written before the cursor and committed while the client was disconnected', async () => {
    const first = await events();
    const slow = await begin();
    const late = await insertEvent(slow);
    await insertEvent();
    const cursor = await cursorAfter(first, 1);
    await first.return!();
    await commit(slow);
    expect(await untilNow(await events({ after: cursor }))).toEqual([late]);
  });

  test('does not repeat events seen while an older transaction was running', async () => {
    const first = await events();
    const older = await begin();
    await older.query('SELECT pg_current_xact_id()');
    await insertEvent();
    await insertEvent();
    const cursor = await cursorAfter(first, 2);
    await first.return!();
    expect(await untilNow(await events({ after: cursor }))).toEqual([]);
    await commit(older);
    const again = await events({ after: cursor });
    expect(await untilNow(again)).toHaveLength(1);
  });

  test('catches up over many pages', async () => {
    const first = await events();
    await insertEvent();
    const cursor = await cursorAfter(first, 1);
    await first.return!();
    const missed: string[] = [];
    for (let index = 0; index < 450; index++) missed.push(await insertEvent());
    const second = await events({ after: cursor });
    expect(idsOf(await take(second, 450))).toEqual(missed);
    expect(await untilNow(second)).toEqual([]);
  });

  test('continues from the cursor of another database cluster with different transaction IDs', async () => {
    const first = await events();
    await insertEvent();
    const cursor = await cursorAfter(first, 1);
    await first.return!();
    const missed = await insertEvent();
    for (const horizon of ['1', (2 ** 31).toString(36), (2 ** 40 + 5).toString(36)]) {
      const elsewhere = cursor.split('.').with(3, horizon).join('.');
      const seen = await untilNow(await events({ after: elsewhere }));
      expect(seen).toContain(missed);
      await Promise.all(open.splice(0).map((items) => items.return!()));
    }
  });

  test('shows every row once from a forged cursor far in the future, and queries for late rows only near its position', async () => {
    const later = Date.now() + 86_400_000;
    const forged = (type: IdType) => [later.toString(36), firstIdAt(type, later), '0', '0', ''].join('.');
    const written: string[] = [];
    for (let age = 250; age > 0; age--) {
      written.push(await insertEvent(db.pool, { id: eventIdAt(Date.now() - age * 60_000) }));
    }
    const queries = vi.spyOn(db.pool, 'query');
    const seen = idsOf(await take(await events({ after: forged('Event') }), 250));
    const ranges = queries.mock.calls.flatMap(([statement]) => {
      const { name, values } = statement as unknown as { name?: string; values: string[] };
      return name === 'live-events' ? [values.slice(1, 3)] : [];
    });
    queries.mockRestore();
    expect(seen).toEqual(written);
    expect(ranges.length).toBeGreaterThan(1);
    for (const [since, position] of ranges) {
      expect(written.filter((id) => id >= since! && id < position!)).toEqual([]);
    }

    const delivery = await insertDelivery();
    const changed = await take(await deliveries({ after: forged('Delivery') }), 1);
    expect(changed.map((item) => item.delivery.id)).toEqual([delivery]);
  });

  test.each(['', 'x', '1.2.3.4.', '\u0000', 'evt_01jc9x2v5qe3w8k4m6n7p9r0st'])(
    'rejects the cursor %j with an error that names the field',
    async (after) => {
      const refused = expect.objectContaining({
        code: 'VALIDATION_FAILED',
        fields: [{ pointer: '/after', message: expect.any(String) }],
      });
      await expect(feed.events(alice, { projectId, after })).rejects.toEqual(refused);
      await expect(feed.deliveries(alice, { projectId, after })).rejects.toEqual(refused);
    },
  );
});

describe('with concurrent writers', () => {
  // While any transaction on the server is open, even one that writes nothing, later transactions stay in doubt.
  test('a client that is cut off repeatedly misses no event and gets few of them twice, even if one transaction stays open', async () => {
    const older = await begin();
    await older.query('SELECT pg_current_xact_id()');
    const writers = 6;
    const perWriter = 40;
    const written: string[] = [];
    const seen: string[] = [];
    let items = await events();
    await insertEvent();
    let cursor = await cursorAfter(items, 1);

    const writing = Promise.all(
      Array.from({ length: writers }, async (_, writer) => {
        const client = new pg.Client({ connectionString: testDatabase.url });
        await client.connect();
        for (let index = 0; index < perWriter; index++) {
          await client.query('BEGIN');
          written.push(await insertEvent(client));
          await client.query('SELECT pg_sleep($1)', [((writer * 7 + index * 3) % 10) / 500]);
          await client.query('COMMIT');
          hint();
        }
        await client.end();
      }),
    );
    const missing = () => writers * perWriter - new Set(seen).size;
    let sinceCut: string[] = [];
    while (missing() > 0) {
      const { value } = await items.next();
      seen.push(value!.event.id);
      sinceCut.push(value!.event.id);
      cursor = value!.cursor;
      expect(new Set(sinceCut).size).toBe(sinceCut.length);
      if (seen.length % 17 === 0) {
        await items.return!();
        items = await events({ after: cursor });
        sinceCut = [];
      }
    }
    await writing;
    const last = await untilNow(items);
    expect(last.filter((id) => sinceCut.includes(id) || !seen.includes(id))).toEqual([]);
    await commit(older);
    expect(await untilNow(await events({ after: cursor }))).toHaveLength(1);
    // The follower that other subscriptions share may be behind the cursor that a new subscription starts from.
    expect(seen.length + last.length - written.length).toBeLessThan(written.length / 10);
    expect([...new Set(seen)].sort()).toEqual(written.sort());
  });
});

describe('the delivery feed', () => {
  test('shows each change of a delivery in order, with its status', async () => {
    const items = await deliveries();
    const id = await insertDelivery();
    const [made] = await take(items, 1);
    expect(made!.delivery).toMatchObject({ id, status: 'PENDING' });
    await update(id, `"status" = 'SUCCEEDED', "statusCode" = 200, "updatedAt" = now()`);
    const [done] = await take(items, 1);
    expect(done!.delivery).toMatchObject({ id, status: 'SUCCEEDED', statusCode: 200 });
    expect(done!.delivery.updatedAt.getTime()).toBeGreaterThanOrEqual(made!.delivery.updatedAt.getTime());
  });

  test('shows results, but not claims or lease extensions', async () => {
    const items = await deliveries();
    const id = await insertDelivery();
    await take(items, 1);
    for (let lease = 1; lease <= 3; lease++) {
      await update(id, `"status" = 'RUNNING', "leasedUntil" = now(), "leaseToken" = ${lease}`);
      hint();
    }
    const other = await insertDelivery();
    expect((await take(items, 1))[0]!.delivery.id).toBe(other);
    await update(id, `"status" = 'FAILED', "updatedAt" = now()`);
    expect((await take(items, 1))[0]!.delivery).toMatchObject({ id, status: 'FAILED' });
  });

  test('shows both changes if a delivery changes twice within the same millisecond', async () => {
    const items = await deliveries();
    const id = await insertDelivery();
    const { delivery, cursor } = (await take(items, 1))[0]!;
    const same = `"updatedAt" = '${delivery.updatedAt.toISOString()}'`;
    await update(id, `"status" = 'SUCCEEDED', ${same}`);
    expect((await take(items, 1))[0]!.delivery.status).toBe('SUCCEEDED');
    const returned = await deliveries({ after: cursor });
    expect((await take(returned, 1))[0]!.delivery.status).toBe('SUCCEEDED');
  });

  test('shows each delivery that changed since the cursor once, with its latest status', async () => {
    const first = await deliveries();
    const ids = [await insertDelivery(), await insertDelivery(), await insertDelivery()];
    const cursor = await cursorAfter(first, 3);
    await first.return!();
    await update(ids[0]!, `"status" = 'FAILED', "updatedAt" = now()`);
    await update(ids[2]!, `"status" = 'PENDING', "reason" = 'again', "updatedAt" = now()`);
    await update(ids[2]!, `"status" = 'SUCCEEDED', "updatedAt" = now()`);
    const second = await deliveries({ after: cursor });
    const seen = (await take(second, 2)).map(({ delivery: { id, status } }) => [id, status]);
    expect(seen).toEqual([
      [ids[0], 'FAILED'],
      [ids[2], 'SUCCEEDED'],
    ]);
    const last = await insertDelivery();
    expect((await take(second, 1))[0]!.delivery.id).toBe(last);
  });

  test('shows all deliveries of a large transaction, even if it is committed late', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 250; index++) ids.push(await insertDelivery());
    const items = await deliveries();
    const batch = await begin();
    await batch.query(`UPDATE "Delivery" SET "status" = 'SUCCEEDED', "updatedAt" = now() WHERE id = ANY ($1)`, [ids]);
    const between = await insertDelivery();
    expect((await take(items, 1))[0]!.delivery.id).toBe(between);
    await commit(batch);
    const seen = (await take(items, 250)).map(({ delivery }) => delivery.id);
    expect(seen.sort()).toEqual(ids.sort());
  });
});

describe('while another transaction stays open', () => {
  test('a read returns only rows that were not shown yet', async () => {
    const table = eventChanges(db.pool, projectId, null);
    const older = await begin();
    await older.query('SELECT pg_current_xact_id()');
    let progress = await table.present();
    for (let round = 0; round < 3; round++) {
      for (let index = 0; index < 30; index++) await insertEvent();
      const items = readChanges(
        { present: () => 1 },
        { query: table.query, load: async (rows) => byId(rows) },
        progress,
      );
      let next = await items.next();
      for (; !next.done; next = await items.next());
      progress = next.value.reached;
    }
    const { position, horizon, shown } = progress;
    expect(shown.size).toBe(90);
    const request = { position, horizon, sinceMilliseconds: 0 };
    expect((await table.query({ ...request, shown: [...shown.keys()] })).late).toEqual([]);
    expect((await table.query({ ...request, shown: [] })).late).toHaveLength(90);
    await commit(older);
  });

  test('a read returns a page of late rows, and all rows of its last transaction', async () => {
    const table = eventChanges(db.pool, projectId, null);
    const { horizon } = await table.present();
    const firsts: string[] = [];
    for (let index = 0; index < 150; index++) firsts.push(await insertEvent());
    const large = await begin();
    for (let index = 0; index < 100; index++) await insertEvent(large);
    await commit(large);
    await insertEvent();
    const position = { milliseconds: Date.now() + 60_000, id: eventIdAt(Date.now() + 60_000) };
    const { late, isLateFull } = await table.query({ position, horizon, shown: [], sinceMilliseconds: 0 });
    expect(late).toHaveLength(250);
    expect(isLateFull).toBe(true);
    const last = late.reduce((a, b) => (a.transaction > b.transaction ? a : b));
    const next = { position, horizon: last.transaction + 1n, shown: [], sinceMilliseconds: 0 };
    expect((await table.query(next)).late).toHaveLength(1);
  });
});

describe('a feed with a filter', () => {
  test('shows deliveries with the requested statuses, types, and age', async () => {
    const before = await insertDelivery();
    const { rows } = await db.pool.query<{ now: Date }>(`SELECT now() + interval '1 millisecond' AS now`);
    await expect
      .poll(async () => (await db.pool.query(`SELECT now() > $1 AS past`, [rows[0]!.now])).rows[0].past)
      .toBe(true);
    const since = new Date();
    const items = await deliveries({ filter: { status: ['FAILED'], eventTypes: ['payment.failed'], since } });
    const other = await insertDelivery();
    const wanted = await insertDelivery(db.pool, 'payment.failed');
    for (const id of [before, other, wanted]) await update(id, `"status" = 'FAILED', "updatedAt" = now()`);
    expect((await take(items, 1))[0]!.delivery.id).toBe(wanted);
    const last = await insertDelivery(db.pool, 'payment.failed');
    await update(last, `"status" = 'FAILED', "updatedAt" = now()`);
    expect((await take(items, 1))[0]!.delivery.id).toBe(last);
  });
});

describe('access to feeds', () => {
  test.each(['events', 'deliveries'] as const)(
    '%s of missing projects and other accounts are not found',
    async (kind) => {
      const mallory = await createUser();
      const key: Viewer = {
        ...mallory,
        kind: 'apiKey',
        apiKeyId: newId('ApiKey'),
        projectId: newId('Project'),
        scopes: ['READ'],
        expiresAt: null,
      };
      const refused = expect.objectContaining({ code: 'NOT_FOUND' });
      for (const viewer of [mallory, key]) {
        await expect(feed[kind](viewer, { projectId })).rejects.toEqual(refused);
      }
      await expect(feed[kind](alice, { projectId: newId('Project') })).rejects.toEqual(refused);
      await expect(feed[kind](alice, { projectId: 'x\u0000' })).rejects.toEqual(refused);
    },
  );

  test('shows nothing more when the project moves to another account', async () => {
    const items = await events();
    await insertEvent();
    await take(items, 1);
    const owner = await createUser();
    await db.pool.query(`UPDATE "Project" SET "userId" = $1 WHERE id = $2`, [owner.userId, projectId]);
    const pending = items.next();
    await db.pool.query(
      `INSERT INTO "ProjectMember" (id, "projectId", "userId", role, name) VALUES ($1, $2, $3, 'ADMIN', 'alice')`,
      [newId('ProjectMember'), projectId, alice.userId],
    );
    // The previous owner is now an admin, and connects again before the first subscription has ended.
    const again = await events({}, { ...alice, memberships: { [projectId]: 'ADMIN' } } as Viewer);
    // By the time the new owner has seen three more events, the old owner would have seen the first.
    const theirs = await events({}, owner);
    for (let count = 0; count < 3; count++) {
      const written = await insertEvent();
      hint();
      for (const shown of [theirs, again]) expect((await shown.next()).value!.event.id).toBe(written);
    }
    await items.return!();
    expect(await pending).toEqual({ done: true, value: undefined });
  });
});
