import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createConnector, createProject, createWebhook } from '../support/resources.ts';

const DELIVERIES = 25_000;
const MOST_AT_ONCE = 10_000;

let app: TestApp;
let alice: TestUser;
let database: pg.Client;

beforeAll(async () => {
  app = await startTestApp();
  alice = await app.user('alice', 'ENTERPRISE');
  database = new pg.Client({ connectionString: app.databaseUrl });
  await database.connect();
  await database.query(`
    CREATE TABLE portion (size int);
    CREATE FUNCTION note_portion() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN INSERT INTO portion SELECT count(*) FROM deleted; RETURN NULL; END $$;
    CREATE TRIGGER note_portion AFTER DELETE ON "Delivery" REFERENCING OLD TABLE AS deleted
      FOR EACH STATEMENT EXECUTE FUNCTION note_portion()`);
});
afterAll(async () => {
  await database?.end();
  await app?.stop();
});

/** A history of one event that was sent many times. */
async function fill(projectId: string, subscriber: { webhookId?: string; connectorId?: string }): Promise<void> {
  const eventId = newId('Event');
  await database.query(
    `INSERT INTO "Event" ("id", "projectId", "type", "data") VALUES ($1, $2, 'payment.settled', '{}')`,
    [eventId, projectId],
  );
  await database.query(
    `INSERT INTO "Delivery" ("id", "projectId", "eventId", "eventType", "webhookId", "connectorId", "status", "nextAttemptAt")
     SELECT left($1, 20) || lpad(n::text, 10, '0'), $2, $3, 'payment.settled', $4, $5, 'SUCCEEDED', NULL
     FROM generate_series(1, ${DELIVERIES}) AS n`,
    [newId('Delivery'), projectId, eventId, subscriber.webhookId ?? null, subscriber.connectorId ?? null],
  );
}

test.each(['webhook', 'connector', 'project'] as const)('a %s with a long history goes in portions', async (what) => {
  const { base, id } = await createProject(alice);
  const path = { webhook: `${base}/webhooks/`, connector: `${base}/connectors/`, project: '' }[what];
  const subscriber = what === 'connector' ? await createConnector(alice, base) : await createWebhook(alice, base);
  await fill(id, what === 'connector' ? { connectorId: subscriber.id } : { webhookId: subscriber.id });
  await database.query('TRUNCATE portion');

  const { status } = await alice.rest('DELETE', path ? path + subscriber.id : base);
  expect(status).toBe(204);
  const { rows } = await database.query('SELECT sum(size)::int AS all, max(size) AS most FROM portion');
  expect(rows).toEqual([{ all: DELIVERIES, most: MOST_AT_ONCE }]);
  const left = await database.query('SELECT 1 FROM "Delivery" WHERE "projectId" = $1', [id]);
  expect(left.rowCount).toBe(0);
});

test('what somebody else asks to delete loses nothing of its history', async () => {
  const { base, id } = await createProject(alice);
  const { id: webhookId } = await createWebhook(alice, base);
  await fill(id, { webhookId });
  const mallory = await app.user('mallory', 'ENTERPRISE');
  for (const path of [base, `${base}/webhooks/${webhookId}`]) {
    expect((await mallory.rest('DELETE', path)).status).toBe(404);
  }
  const kept = await database.query('SELECT 1 FROM "Delivery" WHERE "projectId" = $1', [id]);
  expect(kept.rowCount).toBe(DELIVERIES);
});
