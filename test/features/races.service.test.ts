import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createEndpoint, createKey, createProject, createWebhook, GOOD } from '../support/resources.ts';
import { openRest, type Rest } from '../support/rest.ts';

const ROUNDS = 8;

let app: TestApp;
let rest: Rest;
let pool: pg.Pool;
let alice: TestUser;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  rest = await openRest(app);
  pool = new pg.Pool({ connectionString: app.databaseUrl });
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(async () => {
  await pool?.end();
  await app?.stop();
});

let base: string;
let projectId: string;
beforeEach(async () => {
  ({ base, id: projectId } = await createProject(alice));
});

type Call = [method: string, path: string, body?: object];
const send = ([method, path, body]: Call) => rest.send(alice, method, path, { body });

/** Rows that hang under nothing. */
async function orphans(): Promise<number> {
  const tables = ['Endpoint', 'ApiKey', 'Webhook', 'Connector', 'Event', 'Delivery'];
  const counts = tables.map(
    (table) =>
      `(SELECT count(*) FROM "${table}" t WHERE NOT EXISTS (SELECT FROM "Project" p WHERE p."id" = t."projectId"))`,
  );
  return Number((await pool.query(`SELECT ${counts.join(' + ')} AS count`)).rows[0].count);
}

describe('while a project is being deleted', () => {
  test('whatever is written under it is either done before or not found, and leaves nothing behind', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const project = await createProject(alice);
      const endpoint = await createEndpoint(alice, project.base, { priceUsd: '1' });
      const webhook = await createWebhook(alice, project.base);
      const writes: Call[] = [
        ['POST', `${project.base}/endpoints`, { ...GOOD.endpoint, path: '/race' }],
        ['PATCH', `${project.base}/endpoints/${endpoint.id}`, { priceUsd: '2' }],
        ['POST', `${project.base}/webhooks`, GOOD.webhook],
        ['PATCH', `${project.base}/webhooks/${webhook.id}`, { description: 'x' }],
        ['POST', `${project.base}/webhooks/${webhook.id}/rotate-secret`],
        ['POST', `${project.base}/webhooks/${webhook.id}/test`],
        ['POST', `${project.base}/connectors`, GOOD.connector],
        ['POST', `${project.base}/keys`, GOOD.key],
        ['PATCH', project.base, { name: 'x' }],
        ['GET', `${project.base}/deliveries`],
      ];
      const calls = writes.flatMap((write, index): Call[] =>
        index === round % 10 ? [['DELETE', project.base], write] : [write],
      );
      const answers = await Promise.all(calls.map(send));
      for (const [index, { status, text }] of answers.entries()) {
        expect(status < 300 || status === 404, `${calls[index]!.slice(0, 2)} → ${text}`).toBe(true);
      }
      expect((await rest.send(alice, 'GET', project.base)).status).toBe(404);
    }
    expect(await orphans()).toBe(0);
  });
});

describe('an event', () => {
  test('waits for the deletion of its project before it holds what that has to delete', async () => {
    const webhook = await createWebhook(alice, base);
    const deletion = await pool.connect();
    try {
      await deletion.query('BEGIN');
      await deletion.query('SELECT FROM "Project" WHERE "id" = $1 FOR UPDATE', [projectId]);
      const sent = send(['POST', `${base}/webhooks/${webhook.id}/test`]);
      const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      await expect.poll(async () => (await pool.query(waiting)).rowCount).toBe(1);
      await deletion.query('SELECT FROM "Webhook" WHERE "id" = $1 FOR UPDATE NOWAIT', [webhook.id]);
      await deletion.query('ROLLBACK');
      expect((await sent).status).toBeLessThan(300);
    } finally {
      await deletion.query('ROLLBACK');
      deletion.release();
    }
  });
});

describe('while subscribers come and go', () => {
  test('every change is made and recorded', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const webhooks = await Promise.all([1, 2, 3].map(() => createWebhook(alice, base)));
      const endpoint = await createEndpoint(alice, base, { priceUsd: '1' });
      const calls: Call[] = [
        ...webhooks.map(({ id }): Call => ['DELETE', `${base}/webhooks/${id}`]),
        ['POST', `${base}/endpoints`, { ...GOOD.endpoint, path: `/race${round}` }],
        ['PATCH', `${base}/endpoints/${endpoint.id}`, { priceUsd: '2' }],
        ['POST', `${base}/webhooks/${webhooks[0]!.id}/test`],
        ['POST', `${base}/webhooks`, GOOD.webhook],
      ];
      const answers = await Promise.all(calls.map(send));
      for (const [index, { status, text }] of answers.entries()) {
        const mayBeGone = calls[index]![1].includes(webhooks[0]!.id);
        expect(status < 300 || (mayBeGone && status === 404), `${calls[index]!.slice(0, 2)} → ${text}`).toBe(true);
      }
    }
    const { rows } = await pool.query(
      `SELECT "type", count(*)::int AS count FROM "Event" WHERE "projectId" = $1 AND NOT "test" GROUP BY 1 ORDER BY 1`,
      [projectId],
    );
    expect(rows).toEqual([
      { type: 'endpoint.created', count: 2 * ROUNDS },
      { type: 'endpoint.pricing_changed', count: ROUNDS },
    ]);
  });
});

test('of those who delete the same thing at once, one does', async () => {
  const { id } = await createEndpoint(alice, base);
  const key = await createKey(alice, base);
  for (const path of [`${base}/endpoints/${id}`, `${base}/keys/${key.id}`, base]) {
    const answers = await Promise.all(Array.from({ length: 10 }, () => rest.send(alice, 'DELETE', path)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([204, ...Array(9).fill(404)]);
  }
});
