import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { createProject, createWebhook, GOOD } from '../support/resources.ts';

let database: TestDatabase;
let app: TestApp;
let sql: pg.Pool;

beforeAll(async () => {
  database = await createTestDatabase();
  app = await startTestApp({ databaseUrl: database.url, env: { ROLES: 'api' }, operationMilliseconds: 10_000 });
  sql = new pg.Pool({ connectionString: database.url });
});
afterAll(async () => {
  await app?.stop();
  await sql?.end();
  await database?.drop();
});

/** Each test has its own account, because an account's operations share a few database connections. */
const createUser = (): Promise<TestUser> => app.user(randomUUID(), 'ENTERPRISE');

/** Locks a project, so that all writes within it wait. */
async function lock(projectId: string): Promise<{ release(): Promise<void> }> {
  const client = await sql.connect();
  await client.query('BEGIN');
  await client.query('SELECT 1 FROM "Project" WHERE "id" = $1 FOR UPDATE', [projectId]);
  return {
    /** Resolves when the waiting transactions have ended. */
    async release() {
      await client.query('COMMIT');
      client.release();
      const open = `SELECT count(*)::int AS open FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'tollgate' AND xact_start IS NOT NULL`;
      await vi.waitFor(async () => expect((await sql.query(open)).rows[0].open).toBe(0), { timeout: 60_000 });
    },
  };
}

const creation = (alias: string, projectId: string) =>
  `${alias}: createWebhook(input: { projectId: "${projectId}", url: "${GOOD.webhook.url}", eventTypes: [ALL] }) {
    webhook { id } secret }`;

async function webhookIdsOf(projectId: string): Promise<string[]> {
  const { rows } = await sql.query('SELECT "id" FROM "Webhook" WHERE "projectId" = $1', [projectId]);
  return rows.map(({ id }) => id);
}

const names = Array.from({ length: 20 }, (_, index) => `w${index}`);
const NOT_DONE = { code: 'UNAVAILABLE', retryable: true, retryAfterSeconds: 1 };

describe.concurrent('a document that times out', () => {
  test('creates nothing after its response, which says that it can be retried', async () => {
    const user = await createUser();
    const { id } = await createProject(user);
    const { release } = await lock(id);
    const response = await fetch(`${app.url}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${user.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query: `mutation { ${names.map((name) => creation(name, id)).join(' ')} }` }),
    });
    const { data, errors } = (await response.json()) as { data: object; errors: object[] };
    await release();

    expect(await webhookIdsOf(id)).toEqual([]);
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
    expect(data).toEqual(Object.fromEntries(names.map((name) => [name, null])));
    expect(errors).toMatchObject(names.map((name) => ({ path: [name], extensions: NOT_DONE })));
  });

  test('returns completed mutations, and OUTCOME_UNCERTAIN for the rest', async () => {
    const user = await createUser();
    const [free, held] = [await createProject(user), await createProject(user)];
    const { release } = await lock(held.id);
    const { data, errors } = await user.graphql<Record<string, { webhook: { id: string }; secret: string } | null>>(
      `mutation { ${creation('done', free.id)} ${creation('waits', held.id)} ${creation('never', free.id)} }`,
    );
    await release();

    expect(data).toEqual({ done: expect.objectContaining({ secret: expect.any(String) }), waits: null, never: null });
    const extensions = { code: 'OUTCOME_UNCERTAIN', retryable: false };
    expect(errors).toMatchObject([
      { path: ['waits'], extensions },
      { path: ['never'], extensions },
    ]);
    expect(await webhookIdsOf(free.id)).toEqual([data!.done!.webhook.id]);
    expect(await webhookIdsOf(held.id)).toEqual([]);
  });

  test('also creates nothing after its response over REST', async () => {
    const user = await createUser();
    const project = await createProject(user);
    const { release } = await lock(project.id);
    const { status, body, headers } = await user.rest('POST', `${project.base}/webhooks`, GOOD.webhook);
    await release();

    expect(await webhookIdsOf(project.id)).toEqual([]);
    expect([status, headers.get('retry-after')]).toEqual([503, '1']);
    expect(body).toMatchObject({ code: 'UNAVAILABLE' });
  });

  test('does not resend a delivery afterward', async () => {
    const user = await createUser();
    const project = await createProject(user);
    const webhook = await createWebhook(user, project.base);
    const test = await user.rest<{ id: string }>('POST', `${project.base}/webhooks/${webhook.id}/test`, {});
    const { id } = test.body;
    await sql.query(`UPDATE "Delivery" SET "status" = 'FAILED', "nextAttemptAt" = NULL WHERE "id" = $1`, [id]);
    const { release } = await lock(project.id);
    const resend = `resendDelivery(input: { id: "${id}" }) { delivery { status } }`;
    const { data, errors } = await user.graphql(`mutation { ${creation('waits', project.id)} ${resend} }`);
    await release();

    expect(data).toEqual({ waits: null, resendDelivery: null });
    expect(errors).toMatchObject([{ extensions: NOT_DONE }, { path: ['resendDelivery'], extensions: NOT_DONE }]);
    const { rows } = await sql.query('SELECT "status" FROM "Delivery" WHERE "id" = $1', [id]);
    expect(rows).toEqual([{ status: 'FAILED' }]);
  });
});
