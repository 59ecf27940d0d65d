import pg from 'pg';
import pino from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/database/client.ts';
import type { Statement } from '../../src/database/statement.ts';
import { unavailability } from '../../src/database/unavailable.ts';
import { openWriteBatcher } from '../../src/database/write-batcher.ts';
import { createTestDatabase, runOnServer, type TestDatabase } from '../support/database.ts';

// When a newer version adds a column, PostgreSQL rejects prepared statements from older sessions if they return all
// columns.

const log = pino({ level: 'silent' });
const SELECT = { name: 'select', text: 'SELECT * FROM "Note"', values: [] };
let database: TestDatabase;
let db: Database;

beforeEach(async () => {
  database = await createTestDatabase();
  db = await openDatabase({ url: database.url, poolSize: 1, log });
  await runOnServer(database.url, `CREATE TABLE "Note" ("id" int); INSERT INTO "Note" VALUES (1)`);
});
afterEach(async () => {
  await db.close();
  await database.drop();
});

const addColumn = () => runOnServer(database.url, 'ALTER TABLE "Note" ADD COLUMN "text" text');
const NEW_ROW = { id: 1, text: null };

async function useClient(): Promise<unknown[]> {
  const client = await db.pool.connect();
  try {
    return (await client.query(SELECT)).rows;
  } finally {
    client.release();
  }
}

const USES: Record<string, () => Promise<unknown>> = {
  'a query': async () => (await db.pool.query(SELECT)).rows,
  'a client': useClient,
  'a transaction of Prisma': () => db.prisma.$transaction((tx) => tx.$queryRawUnsafe(SELECT.text)),
};

test.each(Object.entries(USES))('after a column was added, %s fails once as unavailable', async (_what, use) => {
  await use();
  await addColumn();
  const error = await use().catch((reason) => reason);
  expect(unavailability(error)).toMatchObject({ code: 'UNAVAILABLE', retryAfterSeconds: 1 });
  expect(await use()).toEqual([NEW_ROW]);
});

test('a rejected statement is recognized even if the server’s messages are in another language', async () => {
  const native = await useClient()
    .then(addColumn)
    .then(useClient)
    .catch((reason) => reason);
  expect(native).toMatchObject({ message: 'cached plan must not change result type' });
  const translated = Object.assign(native, { message: 'gecachter Plan darf Ergebnistyp nicht ändern' });
  expect(unavailability(translated)).toMatchObject({ code: 'UNAVAILABLE' });
});

test('after a column was added, a batch of writes in a batcher fails at most once', async () => {
  const warnings: unknown[] = [];
  const noting = pino({ level: 'warn' }, { write: (line) => void warnings.push(JSON.parse(line).msg) });
  const alone = new pg.Pool({ connectionString: database.url });
  const batcher = openWriteBatcher({ url: db.directUrl, pool: alone, log: noting });
  const read = batcher.step<number, unknown>({
    run: async (batch, items) => {
      const [row] = await batch.query(SELECT as unknown as Statement);
      return items.map(() => row);
    },
  });
  await read(1);
  await addColumn();
  for (const item of [1, 2, 3]) expect(await read(item)).toEqual(NEW_ROW);
  expect(warnings).toEqual(['a batch failed; writing its items one by one']);
  await batcher.close();
  await alone.end();
});
