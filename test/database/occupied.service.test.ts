import pino from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { withConnection } from '../../src/database/connection.ts';
import { findForeignTable } from '../../src/database/migration-history.ts';
import { applyMigrations, MIGRATIONS, OccupiedDatabaseError } from '../../src/database/migrations.ts';
import { createEmptyDatabase, runOnServer, type TestDatabase } from '../support/database.ts';

const log = pino({ level: 'silent' });
let database: TestDatabase;
beforeEach(async () => {
  database = await createEmptyDatabase();
});
afterEach(() => database.drop());

const tables = () =>
  withConnection(database.url, 'test', async (client) => {
    const { rows } = await client.query(
      `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v') ORDER BY 1`,
    );
    return rows.map(({ relname }) => relname as string);
  });

test.each([
  ['a table with the name of one of ours', 'CREATE TABLE "User" (id int)', 'User'],
  ['a table with another name', 'CREATE TABLE orders (id int)', 'orders'],
  ['a view', 'CREATE VIEW orders AS SELECT 1 AS id', 'orders'],
  [
    'the tables of another application that uses Prisma',
    `CREATE TABLE "Order" (id int); CREATE TABLE "_prisma_migrations" (id varchar(36) PRIMARY KEY, checksum varchar(64),
     finished_at timestamptz, migration_name varchar(255), logs text, rolled_back_at timestamptz,
     started_at timestamptz DEFAULT now(), applied_steps_count int DEFAULT 0);
     INSERT INTO "_prisma_migrations" (id, migration_name, finished_at) VALUES ('1', '20200101000000_init', now())`,
    'Order',
  ],
])('a database with %s is left as it is, and the error says what to do', async (_what, sql, table) => {
  await runOnServer(database.url, sql);
  const before = await tables();
  const failure = applyMigrations(database.url, MIGRATIONS, log);
  await expect(failure).rejects.toThrow(OccupiedDatabaseError);
  await expect(failure).rejects.toThrow(`it has a table "${table}". Create a database for Tollgate alone`);
  expect(await tables()).toEqual(before);
});

test('tables in other schemas, or of extensions, are not in the way', async () => {
  await runOnServer(database.url, 'CREATE SCHEMA other; CREATE TABLE other."User" (id int)');
  expect((await applyMigrations(database.url, MIGRATIONS, log)).applied.length).toBeGreaterThan(0);
  // Started again, the service finds its own tables.
  await runOnServer(database.url, 'CREATE TABLE notes (id int)');
  expect((await applyMigrations(database.url, MIGRATIONS, log)).applied).toEqual([]);
});

test('a schema can have any name', async () => {
  await runOnServer(database.url, 'CREATE SCHEMA "My-App"; CREATE TABLE "My-App".orders (id int)');
  const found = await withConnection(database.url, 'test', async (client) => {
    await client.query('SET search_path TO "My-App"');
    return findForeignTable(client, []);
  });
  expect(found).toBe('orders');
});
