import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDatabase } from '../../src/database/client.ts';
import { defaultsFor } from '../../src/database/pooler.ts';
import { connectSocket } from '../graphql/socket-client.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createTestDatabase, runOnServer, type TestDatabase } from '../support/database.ts';
import { isPgBouncerInstalled, type PgBouncer, setSessionDefaults, startPgBouncer } from '../support/pgbouncer.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createEndpoint, createProject, createWebhook, GOOD, type Resource } from '../support/resources.ts';
import { codeBlocks, readPage, section } from './pages.ts';

if (!isPgBouncerInstalled)
  console.warn('Skipped: PgBouncer as configured in docs/deployment.md, because pgbouncer is not installed.');

test('docs/deployment.md lists exactly the settings that the service requires behind a pooler', async () => {
  const [statements] = codeBlocks(section(await readPage('docs/deployment.md'), '## PgBouncer'), 'sql');
  expect(statements!.trim().split('\n')).toEqual(defaultsFor('tollgate', 'tollgate'));
});

describe.skipIf(!isPgBouncerInstalled)(
  'behind PgBouncer in transaction mode, configured as in docs/deployment.md',
  () => {
    let database: TestDatabase;
    let bouncer: PgBouncer;
    let app: TestApp;
    let receiver: Receiver;
    let user: TestUser;
    let project: Resource & { base: string };

    beforeAll(async () => {
      database = await createTestDatabase();
      await setSessionDefaults(database.url);
      bouncer = await startPgBouncer(database.url);
      receiver = await startReceiver();
      const env = { DATABASE_URL: bouncer.url, DATABASE_DIRECT_URL: database.url };
      app = await startTestApp({ databaseUrl: bouncer.url, env });
      user = await app.user('alice');
      project = await createProject(user);
    });
    afterAll(async () => {
      await app?.stop();
      await receiver?.close();
      await bouncer?.stop();
      await database?.drop();
    });

    test('many concurrent REST and GraphQL requests succeed, and return the same times', async () => {
      const query = 'query ($id: ID!) { project(id: $id) { id createdAt endpoints(first: 1) { nodes { path } } } }';
      const rounds = Array.from({ length: 60 }, async (_, index) => {
        await createEndpoint(user, project.base);
        const { data, errors } = await user.graphql<{ project: Resource }>(query, { id: project.id });
        expect(errors, `round ${index}`).toBeUndefined();
        expect(data!.project).toMatchObject({ id: project.id, createdAt: project.createdAt });
        expect((await user.rest('GET', `${project.base}/endpoints?limit=5`)).status).toBe(200);
        expect((await user.rest('GET', `${project.base}/delivery-stats`)).status).toBe(200);
      });
      await Promise.all(rounds);
    });

    test('an event reaches a subscription and a webhook', async () => {
      const webhook = await createWebhook(user, project.base, { url: receiver.url });
      const socket = await connectSocket(app.url, user.token);
      const query = `subscription { eventRecorded(projectId: "${project.id}") { event { type } } }`;
      socket.send({ type: 'subscribe', id: '1', payload: { query } });
      const hasFrame = async () => {
        await createEndpoint(user, project.base);
        return socket.received.some(({ type }) => type === 'next');
      };
      await expect.poll(hasFrame, { interval: 100 }).toBe(true);
      expect(JSON.stringify(socket.received)).toContain('ENDPOINT_CREATED');
      await receiver.waitFor(1);
      const deliveries = () =>
        user.rest<{ data: Resource[] }>('GET', `${project.base}/deliveries?webhookId=${webhook.id}&status=SUCCEEDED`);
      await expect.poll(async () => (await deliveries()).body.data?.length).toBeGreaterThan(0);
      await socket.close();
    });

    test("no setting or statement name stays in the pooler's sessions", async () => {
      const through = new pg.Pool({ connectionString: bouncer.url, max: 4 });
      const look = `SELECT current_setting('enable_seqscan') AS seqscan, current_setting('plan_cache_mode') AS plans,
      current_setting('lock_timeout') AS lock, current_setting('TimeZone') AS zone,
      (SELECT count(*)::int FROM pg_prepared_statements) AS names`;
      const clients = await Promise.all([1, 2, 3, 4].map(() => through.connect()));
      // Each open transaction has its own session.
      for (const client of clients) await client.query('BEGIN');
      const sessions = await Promise.all(clients.map((client) => client.query(look)));
      for (const client of clients) {
        await client.query('COMMIT');
        client.release();
      }
      await through.end();
      for (const { rows } of sessions)
        expect(rows).toMatchObject([{ seqscan: 'on', plans: 'auto', lock: '10s', zone: 'UTC', names: 0 }]);
    });

    test('the service survives a restart of the pooler without duplicate or lost changes, and hints have their own session', async () => {
      const sql = new pg.Client({ connectionString: database.url });
      await sql.connect();
      const listeners = async () => {
        const { rows } = await sql.query(
          `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tollgate-bus'`,
        );
        return rows;
      };
      const listening = await listeners();
      expect(listening).toHaveLength(1);
      await bouncer.restart();
      const body = { ...GOOD.endpoint, path: '/after-restart' };
      const headers = { 'idempotency-key': 'after-restart' };
      const send = async () => (await user.rest('POST', `${project.base}/endpoints`, body, headers)).status;
      await expect.poll(send).toBe(201);
      expect(await send()).toBe(201);
      await receiver.waitFor(({ body: sent }) => sent.includes('/after-restart'));
      expect(await listeners()).toEqual(listening);
      const { rows } = await sql.query(`SELECT count(*)::int AS count FROM "Endpoint" WHERE "path" = '/after-restart'`);
      expect(rows).toEqual([{ count: 1 }]);
      await sql.end();
    });

    test('the service does not start if new sessions lack settings, and says how to add them', async () => {
      const bare = await createTestDatabase();
      const name = new URL(bare.url).pathname.slice(1);
      await runOnServer(bare.url, `ALTER DATABASE ${name} SET TimeZone = 'Europe/Berlin'`);
      const other = await startPgBouncer(bare.url);
      const open = () =>
        openDatabase({ url: other.url, directUrl: bare.url, poolSize: 2, log: pino({ level: 'silent' }) });
      const error: Error = await open().then(
        () => expect.fail('it opened'),
        (reason) => reason,
      );
      expect(error.message).toContain('TimeZone is Europe/Berlin');
      expect(error.message).toMatch(/ and then restart the pooler\.$/);
      const statements = error.message.match(/ALTER ROLE .*?;/g)!;
      expect(statements).toEqual(defaultsFor('tollgate', name));
      await runOnServer(bare.url, statements.join(''));
      await other.restart();
      await (await open()).close();
      await other.stop();
      await bare.drop();
    });
  },
);
