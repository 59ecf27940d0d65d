import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBus } from '../src/bus/bus.ts';
import { type Database, openDatabase } from '../src/database/client.ts';
import { createFairQueue } from '../src/limits/fair-queue.ts';
import { startOperation } from '../src/operation.ts';
import { createTestDatabase, type TestDatabase } from './support/database.ts';

const log = pino({ level: 'silent' });
let testDatabase: TestDatabase;
let db: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  db = await openDatabase({ url: testDatabase.url, poolSize: 4, log });
});

afterAll(async () => {
  await db?.close();
  await testDatabase?.drop();
});

const never = () => new Promise<never>(() => {});

test("the statements inside a transaction don't wait in the queue, so operations never wait for each other", async () => {
  const fairQueue = createFairQueue({ perAccount: 1, perProcess: Infinity });
  const operation = startOperation(60_000, (job) => fairQueue.run('alice', job));
  const read = () => db.pool.query<{ one: number }>('SELECT 1 AS one');
  const transact = () => db.prisma.$transaction(async () => (await read()).rows);
  const results = await operation.run(() => Promise.all([transact(), transact(), read().then(({ rows }) => rows)]));
  operation.end();
  expect(results).toEqual([[{ one: 1 }], [{ one: 1 }], [{ one: 1 }]]);
});

test('a statement that the queue lets through after the deadline is not sent', async () => {
  const { promise: letThrough, resolve: startJob } = Promise.withResolvers<void>();
  const operation = startOperation(1, (job) => letThrough.then(job));
  const statement = operation.run(() => db.pool.query('CREATE TABLE late ()'));
  const refused = expect(statement).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await expect(operation.over).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  startJob();
  await refused;
  expect((await db.pool.query(`SELECT to_regclass('late') AS late`)).rows).toEqual([{ late: null }]);
});

test("hints are sent and handled without waiting in the operation's queue", async () => {
  const bus = await openBus({ url: testDatabase.url, pool: db.pool, log });
  const reads: number[] = [];
  bus.subscribe('news', () => db.pool.query('SELECT 1').then(({ rows }) => reads.push(rows.length)));
  const operation = startOperation(60_000, never);
  operation.run(() => bus.publishHereFirst('news'));
  // One read for the hint in this process, and one for the notification.
  await expect.poll(() => reads).toEqual([1, 1]);
  operation.end();
  await bus.close();
});
