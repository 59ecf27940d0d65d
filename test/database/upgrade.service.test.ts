import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import pino from 'pino';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { topics } from '../../src/bus/bus.ts';
import { applyMigrations, MIGRATIONS } from '../../src/database/migrations.ts';
import { DELETED_PROJECT_ID, DELETED_USER_ID } from '../../src/features/deletions/soft-delete.ts';
import { METHODS } from '../../src/features/endpoints/methods.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { copyDatabase, createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { insertPayment } from '../support/payments.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import {
  createConnector,
  createEndpoint,
  createKey,
  createProject,
  createWebhook,
  EVERY_SCOPE,
} from '../support/resources.ts';

type Row = Record<string, unknown>;

/** Says which database this is. In a copy with another database's row, deliveries would wait until it is adopted. */
const OF_ITS_DATABASE = 'Installation';

const log = pino({ level: 'silent' });
const names = (await readdir(MIGRATIONS)).filter((name) => /^\d{14}_/.test(name)).sort();
/** Every earlier version of the schema. */
const OLDER = names.slice(0, -1);

/** The migrations are applied to this database one after another, each only once. */
let growing: TestDatabase;
/** Those that have been applied. */
let folder: string;
let receiver: Receiver;
let current: TestApp;
let user: TestUser;
let sql: pg.Client;
let project: Awaited<ReturnType<typeof createProject>>;
let webhook: Awaited<ReturnType<typeof createWebhook>>;
let key: string;

beforeAll(async () => {
  growing = await createEmptyDatabase();
  folder = await mkdtemp(join(tmpdir(), 'tollgate-upgrade-'));
  await cp(join(MIGRATIONS, 'migration_lock.toml'), join(folder, 'migration_lock.toml'));
  receiver = await startReceiver(() => ({ statusCode: 503 }));
  current = await startTestApp({ delivery: { retryScheduleSeconds: [3600] } });
  sql = await connect(current.databaseUrl);
  user = await current.user('alice');
  project = await createProject(user);
  key = (await createKey(user, project.base, EVERY_SCOPE)).key;
  webhook = await createWebhook(user, project.base, { url: receiver.url });
  // Endpoints created before methods could be chosen serve every method.
  const { id: endpointId } = await createEndpoint(user, project.base, { methods: [...METHODS] });
  await createConnector(user, project.base, { eventTypes: ['payment.settled'] });
  await insertPayment(sql, { projectId: project.id, endpointId, mark: 'paid' });
  await receiver.waitFor(1);
  const query = `SELECT FROM "Delivery" WHERE status = 'PENDING' AND "attemptCount" > 0`;
  await vi.waitFor(async () => expect((await sql.query(query)).rowCount).toBe(1), { timeout: 60_000 });
});

afterAll(async () => {
  await sql?.end();
  await current?.stop();
  await receiver?.close();
  await growing?.drop();
  if (folder) await rm(folder, { recursive: true });
});

describe.each(OLDER)('a database from the version with %s', (version) => {
  let database: TestDatabase;
  let old: pg.Client;
  let copied: Record<string, number>;
  let upgraded: TestApp | undefined;

  beforeAll(async () => {
    await grow(version);
    database = await copyDatabase(growing.url);
    old = await connect(database.url);
    copied = await copyRows(old);
  });
  afterAll(async () => {
    await old?.end();
    await upgraded?.stop();
    await database?.drop();
  });

  test('is upgraded at startup, keeps and serves all rows, and sends its deliveries', async () => {
    expect(copied).toMatchObject({ User: 1, Project: 1, ApiKey: 1, Webhook: 1, Endpoint: 1, Event: 1, Delivery: 1 });
    const env = { ROLES: 'api,worker' };
    upgraded = await startTestApp({ databaseUrl: database.url, dataDir: current.dataDir, env });
    const withKey = upgraded.caller(key);
    for (const [table, count] of Object.entries(copied)) {
      const { rows } = await old.query(`SELECT count(*)::int FROM "${table}"`);
      expect(rows[0].count, table).toBeGreaterThanOrEqual(count);
    }
    const paths = ['', '/endpoints', '/webhooks', '/connectors', '/events'];
    if ('Payment' in copied) paths.push('/payments', '/revenue');
    for (const path of paths) {
      const { status, body } = await withKey.rest('GET', project.base + path);
      const { body: expected } = await user.rest<object>('GET', project.base + path);
      // Only people have roles.
      const sameForKeys = 'viewerRole' in expected ? { ...expected, viewerRole: null } : expected;
      expect({ path, status, body }).toEqual({ path, status: 200, body: sameForKeys });
    }
    receiver.requests.length = 0;
    receiver.handle(() => ({}));
    await old.query(`UPDATE "Delivery" SET "nextAttemptAt" = now() WHERE status = 'PENDING'`);
    await old.query(`SELECT pg_notify('tollgate', $1)`, [topics.deliveriesDue]);
    const [request] = await receiver.waitFor(1);
    expect(() => new Webhook(webhook.secret).verify(request!.body.toString(), request!.headers as never)).not.toThrow();
  });
});

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}

/** Applies the next migration to the growing database. */
async function grow(version: string): Promise<void> {
  await cp(join(MIGRATIONS, version), join(folder, version), { recursive: true });
  await applyMigrations(growing.url, folder, log);
}

/** An SQL condition that matches the rows that a migration creates. */
const isFromMigration = (table: string) =>
  table === 'User' || table === 'Project' ? `"id" IN ('${DELETED_USER_ID}', '${DELETED_PROJECT_ID}')` : 'NULL';

/**
 * Copies the current rows into tables of an older version, except for columns and scopes that the version lacks. Returns
 * the rows per table.
 */
async function copyRows(into: pg.Client): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const scopes = await scopesOf(into);
  // Turns off foreign keys, so that tables can be copied in any order.
  await into.query('SET session_replication_role = replica');
  for (const table of await tablesOf(into)) {
    const known = await columnsOf(sql, table);
    const columns = (await columnsOf(into, table)).filter((column) => known.includes(column));
    if (columns.length === 0) continue;
    const list = columns.map((column) => `"${column}"`).join();
    const { rows } = await sql.query<{ row: Row }>(
      `SELECT to_jsonb(t) AS "row" FROM (SELECT ${list} FROM "${table}" WHERE ${isFromMigration(table)} IS NOT TRUE) AS t`,
    );
    counts[table] = rows.length;
    for (const { row } of rows)
      if ('scopes' in row) row.scopes = (row.scopes as string[]).filter((scope) => scopes.has(scope));
    await into.query(
      `INSERT INTO "${table}" (${list}) SELECT ${list} FROM jsonb_populate_recordset(NULL::"${table}", $1::jsonb)`,
      [JSON.stringify(rows.map(({ row }) => row))],
    );
  }
  await into.query('RESET session_replication_role');
  return counts;
}

/** Returns the scopes that keys can have. */
async function scopesOf(client: pg.Client): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT enumlabel AS "name" FROM pg_enum JOIN pg_type ON pg_type.oid = enumtypid WHERE typname = 'ApiKeyScope'`,
  );
  return new Set(rows.map(({ name }) => name));
}

async function tablesOf(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT relname AS "name" FROM pg_class
     WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = 'public'::regnamespace
       AND relname NOT IN ('_prisma_migrations', '${OF_ITS_DATABASE}')`,
  );
  return rows.map(({ name }) => name);
}

/** Returns the columns, except for generated ones. */
async function columnsOf(client: pg.Client, table: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT column_name AS "name" FROM information_schema.columns
     WHERE table_schema = 'public' AND table_name = $1 AND is_generated = 'NEVER'`,
    [table],
  );
  return rows.map(({ name }) => name);
}
