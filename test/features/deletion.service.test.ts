import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { countDeletions } from '../../src/features/deletions/clear-history.ts';
import { newId } from '../../src/ids.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { metricValue, readMetrics } from '../support/metrics.ts';
import { startReceiver } from '../support/receiver.ts';
import {
  createConnector,
  createEndpoint,
  createKey,
  createProject,
  createWebhook,
  GOOD,
  type Resource,
} from '../support/resources.ts';
import { openRest, type Rest } from '../support/rest.ts';

const ROUNDS = 20;
/** Enough for all the rounds, even on a slow machine. */
const ROUNDS_TIMEOUT = 120_000;

let app: TestApp;
let rest: Rest;
let pool: pg.Pool;
let alice: TestUser;

beforeAll(async () => {
  app = await startTestApp();
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
const send = ([method, path, body]: Call) => rest.send<Resource>(alice, method, path, { body });

/** Counts rows of projects that no longer exist. */
async function countOrphans(): Promise<number> {
  const tables = ['Endpoint', 'ApiKey', 'Webhook', 'Connector', 'Event', 'Delivery'];
  const counts = tables.map(
    (table) =>
      `(SELECT count(*) FROM "${table}" t WHERE NOT EXISTS (SELECT FROM "Project" p WHERE p."id" = t."projectId"))`,
  );
  return Number((await pool.query(`SELECT ${counts.join(' + ')} AS count`)).rows[0].count);
}

describe('while a project is being deleted', () => {
  test('every write to it succeeds or returns 404, and leaves nothing behind', {
    timeout: ROUNDS_TIMEOUT,
  }, async () => {
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
        index === round % writes.length ? [['DELETE', project.base], write] : [write],
      );
      const responses = await Promise.all(calls.map(send));
      for (const [index, { status, text }] of responses.entries()) {
        const [method, path] = calls[index]!;
        const expected = method === 'DELETE' ? [204] : [200, 201, 404];
        expect(expected, `${method} ${path} → ${text}`).toContain(status);
      }
      expect((await rest.send(alice, 'GET', project.base)).status).toBe(404);
    }
    expect(await countOrphans()).toBe(0);
  });

  test('an event waits for the deletion without locking rows that the deletion needs', async () => {
    const webhook = await createWebhook(alice, base);
    const deletion = await pool.connect();
    try {
      await deletion.query('BEGIN');
      await deletion.query('SELECT FROM "Project" WHERE "id" = $1 FOR UPDATE', [projectId]);
      const sent = send(['POST', `${base}/webhooks/${webhook.id}/test`]);
      const waiting = `SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%"Project"%'`;
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

describe('while webhooks and connectors are being deleted', () => {
  test('every other change succeeds and records its event', { timeout: ROUNDS_TIMEOUT }, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const webhooks = await Promise.all([1, 2, 3].map(() => createWebhook(alice, base)));
      const connector = await createConnector(alice, base, { eventTypes: ['endpoint.created'] });
      const endpoint = await createEndpoint(alice, base, { priceUsd: '1' });
      const [first, second, third] = webhooks.map(({ id }) => `${base}/webhooks/${id}`);
      const created = (name: string): Call => [
        'POST',
        `${base}/endpoints`,
        { ...GOOD.endpoint, path: `/${name}${round}` },
      ];
      const calls: [Call, ...number[]][] = [
        [created('a'), 201],
        [['DELETE', first!], 204],
        [['DELETE', second!], 204],
        [created('b'), 201],
        [['DELETE', third!], 204],
        [['DELETE', `${base}/connectors/${connector.id}`], 204],
        [created('c'), 201],
        [['PATCH', `${base}/endpoints/${endpoint.id}`, { priceUsd: '2' }], 200],
        [['POST', `${first}/test`], 200, 404],
        [['POST', `${base}/webhooks`, GOOD.webhook], 201],
      ];
      const responses = await Promise.all(calls.map(([call]) => send(call)));
      for (const [index, { status, text }] of responses.entries()) {
        const [[method, path], ...expected] = calls[index]!;
        expect(expected, `${method} ${path} → ${text}`).toContain(status);
      }
    }
    const { rows } = await pool.query(
      `SELECT "type", count(*)::int AS count FROM "Event" WHERE "projectId" = $1 AND NOT "test" GROUP BY 1 ORDER BY 1`,
      [projectId],
    );
    expect(rows).toEqual([
      { type: 'endpoint.created', count: 4 * ROUNDS },
      { type: 'endpoint.pricing_changed', count: ROUNDS },
    ]);
  });

  test('resending a delivery succeeds or returns 404', { timeout: ROUNDS_TIMEOUT }, async () => {
    await using receiver = await startReceiver();
    for (let round = 0; round < ROUNDS; round++) {
      const webhook = await createWebhook(alice, base, { url: receiver.url, eventTypes: ['payment.settled'] });
      await alice.rest('PATCH', `${base}/webhooks/${webhook.id}`, { isActive: false });
      const { body } = await send(['POST', `${base}/webhooks/${webhook.id}/test`]);
      const [resent, deleted] = await Promise.all([
        send(['POST', `${base}/deliveries/${body.id}/resend`]),
        send(['DELETE', `${base}/webhooks/${webhook.id}`]),
      ]);
      expect([200, 404], resent.text).toContain(resent.status);
      expect(deleted.status).toBe(204);
    }
  });
});

test('if several requests delete the same resource at the same time, one succeeds', async () => {
  const { id } = await createEndpoint(alice, base);
  const key = await createKey(alice, base);
  for (const path of [`${base}/endpoints/${id}`, `${base}/keys/${key.id}`, base]) {
    const responses = await Promise.all(Array.from({ length: 10 }, () => send(['DELETE', path])));
    expect(responses.map(({ status }) => status).toSorted()).toEqual([204, ...Array(9).fill(404)]);
  }
});

describe('a long history', () => {
  const DELIVERIES = 12_000;
  const MOST_AT_ONCE = 5_000;

  beforeAll(async () => {
    await pool.query(`
      CREATE TABLE batch (size int);
      CREATE FUNCTION note_batch() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO batch SELECT count(*) FROM deleted; RETURN NULL; END $$;
      CREATE TRIGGER note_batch AFTER DELETE ON "Delivery" REFERENCING OLD TABLE AS deleted
        FOR EACH STATEMENT EXECUTE FUNCTION note_batch()`);
  });

  /** Adds one event with many deliveries to a destination. */
  async function fill(destination: { webhookId?: string; connectorId?: string }): Promise<void> {
    const eventId = newId('Event');
    await pool.query(
      `INSERT INTO "Event" ("id", "projectId", "type", "data") VALUES ($1, $2, 'payment.settled', '{}')`,
      [eventId, projectId],
    );
    await pool.query(
      `INSERT INTO "Delivery" ("id", "projectId", "eventId", "eventType", "webhookId", "connectorId", "status", "nextAttemptAt")
       SELECT left($1, 20) || lpad(n::text, 10, '0'), $2, $3, 'payment.settled', $4, $5, 'SUCCEEDED', NULL
       FROM generate_series(1, ${DELIVERIES}) AS n`,
      [newId('Delivery'), projectId, eventId, destination.webhookId ?? null, destination.connectorId ?? null],
    );
  }
  const nothingToDelete = () => expect.poll(() => countDeletions(pool)).toBe(0);
  const countDeliveries = async () =>
    (await pool.query('SELECT count(*)::int FROM "Delivery" WHERE "projectId" = $1', [projectId])).rows[0].count;

  test.each(['webhook', 'connector', 'project'] as const)('is deleted in batches with its %s', async (what) => {
    const destination = what === 'connector' ? await createConnector(alice, base) : await createWebhook(alice, base);
    await fill(what === 'connector' ? { connectorId: destination.id } : { webhookId: destination.id });
    await nothingToDelete();
    await pool.query('TRUNCATE batch');

    const { status } = await send(['DELETE', what === 'project' ? base : `${base}/${what}s/${destination.id}`]);
    expect(status).toBe(204);
    await expect.poll(countDeliveries).toBe(0);
    const { rows } = await pool.query('SELECT sum(size)::int AS all, max(size) AS most FROM batch');
    expect(rows).toEqual([{ all: DELIVERIES, most: MOST_AT_ONCE }]);
  });

  test('is deleted after the response to the request that deletes the webhook', async () => {
    const { id: webhookId } = await createWebhook(alice, base, { eventTypes: ['endpoint.created'] });
    await fill({ webhookId });
    await nothingToDelete();
    const lock = await pool.connect();
    try {
      // Keeps the history from being deleted.
      await lock.query('BEGIN');
      await lock.query('SELECT FROM "Webhook" WHERE "id" = $1 FOR KEY SHARE', [webhookId]);
      expect((await send(['DELETE', `${base}/webhooks/${webhookId}`])).status).toBe(204);
      expect((await send(['DELETE', `${base}/webhooks/${webhookId}`])).status).toBe(404);
      expect((await send(['GET', `${base}/webhooks/${webhookId}`])).status).toBe(404);
      expect((await send(['GET', `${base}/webhooks`])).text).not.toContain(webhookId);
      await createEndpoint(alice, base);
      expect(await countDeliveries()).toBe(DELIVERIES);
      const { rows } = await pool.query('SELECT url, secret, "isActive" FROM "Webhook" WHERE id = $1', [webhookId]);
      expect(rows).toEqual([{ url: '', secret: '', isActive: false }]);
      expect(await countDeletions(pool)).toBe(1);
      const readGauge = async () => metricValue(await readMetrics(app.url), 'tollgate_deletions');
      await expect.poll(readGauge).toBe(1);
    } finally {
      await lock.query('ROLLBACK');
      lock.release();
    }
    await expect.poll(countDeliveries).toBe(0);
    await nothingToDelete();
  });

  test('stays complete when another user tries to delete it', async () => {
    const { id: webhookId } = await createWebhook(alice, base);
    await fill({ webhookId });
    const mallory = await app.user('mallory', 'ENTERPRISE');
    for (const path of [base, `${base}/webhooks/${webhookId}`]) {
      expect((await rest.send(mallory, 'DELETE', path)).status).toBe(404);
    }
    expect(await countDeliveries()).toBe(DELIVERIES);
  });
});
