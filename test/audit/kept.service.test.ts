import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { load } from 'js-yaml';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.ts';
import { createTestDatabase, runOnServer, type TestDatabase } from '../support/database.ts';
import { databaseUrl } from '../support/database-url.ts';
import { person } from '../support/members.ts';
import { startReceiver } from '../support/receiver.ts';
import { createProject, type Resource } from '../support/resources.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const DENIED = { code: '42501' };

describe('an audit log entry', () => {
  let database: TestDatabase;
  let sql: pg.Client;
  beforeAll(async () => {
    database = await createTestDatabase();
    sql = new pg.Client({ connectionString: database.url });
    await sql.connect();
    await sql.query(`
      INSERT INTO "User" ("id", "issuer", "subject") VALUES ('usr_a', 'i', 'a'), ('usr_b', 'i', 'b');
      INSERT INTO "Project" ("id", "userId", "name", "walletAddress") VALUES ('proj_a', 'usr_a', 'A', '0x');
      INSERT INTO "AuditEntry" ("id", "userId", "projectId", "actorKind", "actorId", "actorName", "action", "targetId", "changes")
      VALUES ('aud_a', 'usr_a', 'proj_a', 'USER', 'usr_a', 'a', 'project.created', 'proj_a', '{}'),
        ('aud_b', 'usr_a', NULL, 'OPERATOR', 'operator', 'operator', 'user.blocked', 'usr_a', '{}')`);
  });
  afterAll(async () => {
    await sql?.end();
    await database?.drop();
  });

  test.each([
    `UPDATE "AuditEntry" SET "action" = 'project.updated' WHERE "id" = 'aud_a'`,
    `UPDATE "AuditEntry" SET "changes" = '{"a":1}', "userId" = 'usr_a'`,
    `UPDATE "AuditEntry" SET "userId" = 'usr_b' WHERE "id" = 'aud_a'`,
    `UPDATE "AuditEntry" SET "userId" = 'usr_b' WHERE "id" = 'aud_b'`,
    `DELETE FROM "AuditEntry" WHERE "id" = 'aud_b'`,
    'DELETE FROM "AuditEntry"',
    'TRUNCATE "AuditEntry"',
    `SET session_replication_role = replica; UPDATE "AuditEntry" SET "action" = 'project.updated'`,
    'SET session_replication_role = replica; DELETE FROM "AuditEntry"',
    'SET session_replication_role = replica; TRUNCATE "AuditEntry"',
    `CREATE TEMP TABLE "Project" AS SELECT 'proj_a' AS id, 'usr_b' AS "userId";
     UPDATE "AuditEntry" SET "userId" = 'usr_b' WHERE id = 'aud_a'`,
    `CREATE TYPE any_id AS (is_any boolean); CREATE TEMP TABLE "Project" (id any_id, "userId" text);
     CREATE FUNCTION is_any(any_id, text) RETURNS boolean LANGUAGE sql AS 'SELECT true';
     CREATE OPERATOR = (LEFTARG = any_id, RIGHTARG = text, FUNCTION = is_any);
     INSERT INTO pg_temp."Project" VALUES (ROW(true), 'usr_b'); UPDATE "AuditEntry" SET "userId" = 'usr_b' WHERE id = 'aud_b'`,
  ])(
    'cannot be changed or deleted, even by a superuser who owns the table, as in the embedded PostgreSQL: %s',
    async (statement) => {
      const read = async () => (await sql.query('SELECT * FROM "AuditEntry" ORDER BY "id"')).rows;
      const before = await read();
      await expect(sql.query(statement)).rejects.toMatchObject(DENIED);
      expect(await read()).toEqual(before);
    },
  );

  test('moves to the new account when its project is transferred', async () => {
    await sql.query(`UPDATE "Project" SET "userId" = 'usr_b' WHERE "id" = 'proj_a'`);
    await sql.query(`UPDATE "AuditEntry" SET "userId" = 'usr_b' WHERE "projectId" = 'proj_a'`);
    expect((await sql.query(`SELECT "userId" FROM "AuditEntry" WHERE "id" = 'aud_a'`)).rows).toEqual([
      { userId: 'usr_b' },
    ]);
  });
});

describe('with the roles of the Compose file, and the audit log owned by another role, as in the docs', () => {
  let url: string;
  let app: TestApp;
  let service: pg.Client;
  let names: { service: string; superuser: string; log: string };
  let dropped: string;
  /** Connects to the service's database as the administrator of the test run. */
  let adminUrl: string;

  beforeAll(async () => {
    const name = `test_${randomBytes(8).toString('hex')}`;
    names = { service: name, superuser: `${name}_superuser`, log: `${name}_log` };
    const serverUrl = inject('postgresUrl');
    await runOnServer(serverUrl, `CREATE ROLE ${names.superuser} LOGIN SUPERUSER PASSWORD 'secret'`);
    for (const statement of await statementsInCompose()) await runOnServer(serverUrl, rename(statement));
    adminUrl = databaseUrl(serverUrl, name);
    url = Object.assign(new URL(adminUrl), { username: names.service, password: 'secret' }).href;
    await (await startTestApp({ databaseUrl: url })).stop();
    await runOnServer(adminUrl, rename(await statementsInDocs()));
    // The service must recreate this partition.
    dropped = (await lastPartition())!;
    await runOnServer(adminUrl, `DROP TABLE "${dropped}"`);
    app = await startTestApp({ databaseUrl: url });
    service = new pg.Client({ connectionString: url });
    await service.connect();
  });
  afterAll(async () => {
    await service?.end();
    await app?.stop();
    const serverUrl = inject('postgresUrl');
    await runOnServer(serverUrl, `DROP DATABASE ${names.service} WITH (FORCE)`);
    await runOnServer(serverUrl, `DROP ROLE ${Object.values(names).join()}`);
  });

  const rename = (sql: string) =>
    sql
      .replaceAll('audit_owner', names.log)
      .replaceAll(/\bpostgres\b/g, names.superuser)
      .replaceAll(/\btollgate\b/g, names.service);

  async function statementsInCompose(): Promise<string[]> {
    const { configs } = load(await readFile(join(ROOT, 'compose.yaml'), 'utf8')) as {
      configs: { roles: { content: string } };
    };
    return configs.roles.content
      .replace(/\$\{POSTGRES_PASSWORD\}/, 'secret')
      .trim()
      .split('\n');
  }

  async function statementsInDocs(): Promise<string> {
    const [, section] = (await readFile(join(ROOT, 'docs/deployment.md'), 'utf8')).split('### Protect the audit log\n');
    return /```sql\n(.*?)```/s.exec(section!)![1]!;
  }

  async function lastPartition(): Promise<string | undefined> {
    const client = new pg.Client({ connectionString: adminUrl });
    await client.connect();
    const { rows } = await client.query<{ name: string }>(
      `SELECT relname AS "name" FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
        WHERE inhparent = '"Event"'::regclass AND relname ~ '\\d$' ORDER BY relname DESC LIMIT 1`,
    );
    await client.end();
    return rows[0]?.name;
  }

  test('the service adds partitions, delivers, records changes, and transfers projects', async () => {
    await using receiver = await startReceiver();
    const [alice, bob] = [await person(app, 'alice', 'ENTERPRISE'), await person(app, 'bob', 'ENTERPRISE')];
    const { base } = await createProject(alice);
    const webhook = await alice.rest<Resource>('POST', `${base}/webhooks`, { url: receiver.url, eventTypes: ['*'] });
    expect(webhook.status).toBe(201);
    await alice.rest('POST', `${base}/webhooks/${webhook.body.id}/test`, {});
    await expect.poll(() => receiver.requests.length).toBeGreaterThan(0);
    const offer = await alice.rest<Resource>('POST', `${base}/transfer`, { email: 'bob@example.com' });
    expect((await bob.rest('POST', `/api/transfers/${offer.body.id}/accept`)).status).toBe(200);
    const { body } = await bob.rest<{ data: { action: string }[] }>('GET', `${base}/audit-log`);
    expect(body.data.map(({ action }) => action)).toEqual(
      expect.arrayContaining(['project.transferred', 'webhook.created', 'project.created']),
    );
    await expect.poll(lastPartition).toBe(dropped);
  });

  test('no password opens the Compose file’s superuser', async () => {
    const { rows } = await service.query('SELECT rolsuper FROM pg_roles WHERE rolname = current_user');
    expect(rows).toEqual([{ rolsuper: false }]);
    const superuser = Object.assign(new URL(url), { username: names.superuser });
    await expect(runOnServer(superuser.href, 'SELECT')).rejects.toThrow(/password/);
  });

  test.each([
    `UPDATE "AuditEntry" SET "action" = 'project.updated'`,
    'DELETE FROM "AuditEntry"',
    'TRUNCATE "AuditEntry"',
    'ALTER TABLE "AuditEntry" DISABLE TRIGGER ALL',
    'DROP TRIGGER "AuditEntry_kept" ON "AuditEntry"',
    'ALTER TABLE "AuditEntry" RENAME TO "Old"',
    'DROP TABLE "AuditEntry"',
    'DROP TYPE "AuditActor" CASCADE',
    'DROP FUNCTION keep_audit_entries() CASCADE',
    'CREATE OR REPLACE FUNCTION keep_audit_entries() RETURNS trigger LANGUAGE sql AS $$ SELECT NULL $$',
    'DROP SCHEMA public CASCADE',
    'SET session_replication_role = replica',
    'SET ROLE "LOG"',
    'ALTER TABLE "AuditEntry" OWNER TO CURRENT_USER',
  ])('the service’s role can’t change or delete entries: %s', async (statement) => {
    await expect(service.query(statement.replace('LOG', names.log))).rejects.toMatchObject(DENIED);
  });
});
